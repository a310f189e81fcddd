// Weighs the results of a search: guides come before results of benchmarks and the changelog.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    if (/^(results\/|benchmarks$|changelog$)/.test(page)) return score / 4;
    if (/^(choosing|guides\/)/.test(page)) return score + 12;
    if (/^(index$|quickstart$|coming-from\/|concepts\/|gallery\/)/.test(page)) return score + 8;
    return score;
  },
  objNameMatch: 16, // the entry of a name comes before guides that use it
  // The defaults of Sphinx.
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
