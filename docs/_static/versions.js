// Adds a choice of the published versions to the sidebar. A site that is built locally has none.
const root = new URL(document.documentElement.dataset.content_root, location.href);
fetch(new URL("../versions.json", root))
  .then((response) => (response.ok ? response.json() : []))
  .then((versions) => {
    if (versions.length === 0) return;
    const select = document.createElement("select");
    select.setAttribute("aria-label", "Version");
    const here = root.pathname.split("/").at(-2);
    for (const version of versions) select.add(new Option(version, version, false, version === here));
    select.addEventListener("change", () => location.assign(new URL(`../${select.value}/`, root)));
    document.querySelector(".sidebar-brand")?.after(select);
  })
  .catch(() => {});
