// The search itself, without a browser: an index of sections in, the best of them out.
// An entry of the index is [address, page title, heading, text].

/**
 * Sections that have every word of the query, each as the beginning of a word; those with it in their heading first.
 * @param {[string, string, string, string][]} index
 * @param {string} query
 * @param {number} [most]
 */
globalThis.searchSections = function searchSections(index, query, most = 20) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length === 0) return [];
  const found = [];
  for (const [order, [address, title, heading, text]] of index.entries()) {
    const inTitle = title.toLowerCase();
    const inHeading = heading.toLowerCase();
    const inText = text.toLowerCase();
    let score = 0;
    for (const word of words) {
      const points =
        (inHeading === word ? 30 : 0) +
        (begins(inHeading, word) >= 0 ? 20 : 0) +
        (begins(inTitle, word) >= 0 ? 8 : 0) +
        (begins(inText, word) >= 0 ? 3 : 0);
      if (points === 0) {
        score = 0;
        break;
      }
      score += points;
    }
    if (score > 0) found.push({ address, title, heading, extract: extractOf(text, words), score, order });
  }
  return found.sort((a, b) => b.score - a.score || a.order - b.order).slice(0, most);

  // Where a word of the text begins with `word`, -1 when none does. `sandboxTimeout` has the words `sandbox` and `timeout`
  // for a reader only: a part in the middle counts when nothing else is there.
  function begins(text, word) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
      if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
    return word.length >= 4 ? text.indexOf(word) : -1;
  }

  function extractOf(text, words) {
    const at = Math.max(0, begins(text.toLowerCase(), words[0]) - 40);
    return `${at > 0 ? '…' : ''}${text.slice(at, at + 140)}${text.length > at + 140 ? '…' : ''}`;
  }
};
