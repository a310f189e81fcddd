"""The project around the package: the facts that stand in two files agree."""

import importlib
import json
import re

import pytest
from packaging.requirements import Requirement
from support.readme import README

pytestmark = pytest.mark.default_stack_only

ROOT = README.parent


def section(name):
    """The lines of a table of `pyproject.toml`, whose parser Python 3.10 lacks."""
    return (ROOT / "pyproject.toml").read_text().partition(f"[{name}]\n")[2].partition("\n[")[0]


def test_ci_runs_the_test_command_of_the_readme_and_all_default_sessions():
    (command,) = re.findall(r"^(.*nox -s tests)  *# tests$", README.read_text(), flags=re.MULTILINE)
    *_, first, second = (ROOT / ".ci" / "run").read_text().splitlines()
    assert first == command
    (sessions,) = re.findall(r"^nox.options.sessions = (.*)$", (ROOT / "noxfile.py").read_text(), flags=re.MULTILINE)
    assert sorted(["tests", *second.removeprefix(".venv/bin/nox -s ").split()]) == sorted(json.loads(sessions))


def test_versions_agree():
    (version,) = re.findall(r'^version = "(.*)"$', section("project"), flags=re.MULTILINE)
    assert re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE) == [version]
    title = re.findall(r'^title: "(.*)"$', (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert [json.loads((ROOT / ".zenodo.json").read_text())["title"]] == title


def test_one_command_gives_a_release_its_version_and_date(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    main = importlib.import_module("set_version").main
    names = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
    before = {name: (ROOT / name).read_text() for name in names}
    for name in names:
        (tmp_path / name).write_text(before[name])
    main(["7.8.9", "2031-02-03"], tmp_path)
    changed = {
        name: [line for line in (tmp_path / name).read_text().splitlines() if line not in before[name].splitlines()]
        for name in names
    }
    assert changed == {
        "pyproject.toml": ['version = "7.8.9"'],
        "CITATION.cff": ["version: 7.8.9", "date-released: 2031-02-03"],
        "CHANGELOG.md": ["## 7.8.9 (2031-02-03)"],
    }
    assert "## Unreleased\n\n## 7.8.9 (2031-02-03)\n\n" in (tmp_path / "CHANGELOG.md").read_text()
    with pytest.raises(ValueError, match=r"version must be new, got '7\.8\.9'"):
        main(["7.8.9"], tmp_path)
    with pytest.raises(ValueError, match='must have text under "## Unreleased"'):
        main(["7.9.0"], tmp_path)
    with pytest.raises(ValueError, match=r"version must be X\.Y\.Z, got 'v8'"):
        main(["v8"], tmp_path)
    text = (tmp_path / "CHANGELOG.md").read_text()
    (tmp_path / "CHANGELOG.md").write_text(text.replace("## Unreleased\n", "## Unreleased\n\n- News.\n"))
    main(["7.9.0", "2031-02-04"], tmp_path)
    assert (tmp_path / "CITATION.cff").read_text().count("date-released: ") == 1


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_pre_commit_has_the_versions_of_the_lint_session(tool):
    (version,) = re.findall(rf'"{tool}==([\d.]+)"', section("project.optional-dependencies"))
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.search(rf"{tool}[^\n]*\n    rev: v{re.escape(version)}\b", hooks)


def test_workflows_are_pinned_and_only_the_one_that_publishes_the_site_may_write():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text()
        uses = re.findall(r"uses: (\S+)", text)
        assert all(re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", action) for action in uses), path
        assert "permissions:\n  contents: read\n" in text, path
        jobs = re.findall(r"^  (\w+):\n((?:   .*\n|\n)+)", text.partition("\njobs:\n")[2], flags=re.MULTILINE)
        writing = [(name, "if: github.event_name == 'push'" in job) for name, job in jobs if "contents: write" in job]
        assert writing == ([("publish", True)] if path.name == "docs.yml" else []), path


def test_the_site_has_a_folder_for_each_version(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    publish = importlib.import_module("publish_docs").publish
    site, pages = tmp_path / "site", tmp_path / "pages"
    (pages / ".git").mkdir(parents=True)
    site.mkdir()

    def published(ref):
        (site / "index.html").write_text(ref)
        publish(site, pages, ref)
        (leads_to,) = re.findall(r"url=(\S+)/", (pages / "index.html").read_text())
        return leads_to, json.loads((pages / "versions.json").read_text())

    assert published("main") == ("latest", ["latest"])
    assert published("v0.9.0") == ("v0.9", ["latest", "v0.9"])
    (pages / "v0.9" / "old.html").touch()
    assert published("v0.10.0") == ("v0.10", ["latest", "v0.10", "v0.9"])
    assert published("v0.9.1") == ("v0.10", ["latest", "v0.10", "v0.9"])
    assert [path.name for path in (pages / "v0.9").iterdir()] == ["index.html"]
    assert (pages / "v0.9" / "index.html").read_text() == "v0.9.1"
    assert (pages / "latest" / "index.html").read_text() == "main"
    for ref in ("v1.0.0rc1", "feature"):
        with pytest.raises(ValueError, match=f"REF must be main or a tag vX.Y.Z, got '{ref}'"):
            publish(site, pages, ref)


def test_the_system_is_the_one_that_ci_runs_on():
    systems = re.findall(r"Operating System :: .*?(\w+)\"", section("project"))
    assert systems == ["Linux"]
    assert "tested on Linux" in (ROOT / "docs" / "install.md").read_text()
    workflows = "".join(path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml"))
    assert set(re.findall(r"runs-on: (\S+)", workflows)) == {"ubuntu-latest"}


def test_questions_have_one_place():
    form = ".github/ISSUE_TEMPLATE/question.yml"
    assert (ROOT / form).exists()
    assert "(../../issues/new?template=question.yml)" in README.read_text()
    assert form in (ROOT / "CONTRIBUTING.md").read_text()
    assert (ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text() == "blank_issues_enabled: false\n"


def test_the_coverage_is_in_the_summary_of_the_nightly_run():
    nightly = (ROOT / ".github/workflows/nightly.yml").read_text()
    step = nightly.partition("if: matrix.session == 'coverage'\n")[2].partition("- name")[0]
    assert 'coverage report --format=markdown >> "$GITHUB_STEP_SUMMARY"' in step


def test_the_counts_are_compared_every_night():
    assert "session: counts}" in (ROOT / ".github/workflows/nightly.yml").read_text()


def test_badges_name_workflows_and_no_repository():
    badges = re.findall(r"\[!\[\w+\]\((\S+)/badge.svg\)\]\((\S+)\)", README.read_text())
    assert len(badges) == 3
    for picture, page in badges:
        assert picture == page
        assert (ROOT / ".github/workflows" / page.removeprefix("../../actions/workflows/")).exists()


def test_ci_covers_the_supported_pythons():
    supported = set(re.findall(r'Python :: (3\.\d+)"', section("project")))
    tested = set(
        re.findall(r'python: "(3\.\d+)", session: tests slow_tests}', (ROOT / ".github/workflows/ci.yml").read_text())
    )
    assert tested == supported


def oldest():
    """The versions that `nox -s oldest` installs, by package."""
    (pins,) = re.findall(r"^OLDEST = \((.*?)\)$", (ROOT / "noxfile.py").read_text(), flags=re.MULTILINE)
    return dict(re.findall(r'"([\w-]+)==([\d.]+)"', pins))


def test_the_oldest_session_has_the_lowest_versions_of_the_default_stack():
    dependencies = section("project").partition("dependencies = [")[2].partition("]\n")[0]
    allowed = {each.name: each.specifier for each in map(Requirement, re.findall(r'"(.*)"', dependencies))}
    assert set(allowed) <= set(oldest())
    for name, specifier in allowed.items():
        assert oldest()[name] in specifier
    for name, below in (("tensorflow", ("2.17.1", "2.16.2")), ("keras", ("3.10.0", "3.9.2", "3.5.0"))):
        assert not any(release in allowed[name] for release in below)
    for release in ("2.15.1", "2.21.0"):
        assert release in allowed["tensorflow"]


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 120


@pytest.mark.parametrize("path", ["README.md", "docs/install.md"])
def test_pages_name_the_oldest_versions(path):
    text = (ROOT / path).read_text()
    for name, package in (("TensorFlow", "tensorflow"), ("Keras", "keras")):
        minor = ".".join(oldest()[package].split(".")[:2])
        assert f"{name} {minor} or later" in text


def test_the_smoke_test_runs_every_night_on_the_first_and_the_last_python():
    supported = re.findall(r'Python :: (3\.\d+)"', section("project"))
    nightly = (ROOT / ".github/workflows/nightly.yml").read_text()
    tested = set(re.findall(r'python: "(3\.\d+)", session: (\w+)}', nightly))
    assert {(supported[0], "oldest"), (supported[0], "newest"), (supported[-1], "newest")} <= tested
    assert "tf_ranking" in {session for _, session in tested}
