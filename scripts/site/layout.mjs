// The frame of every page: head, navigation, search.

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/**
 * @param page `title`, `html`, and `up`: the way from the page to the root of the site, such as `../`
 * @param groups the navigation: `name` and `entries` of `{ title, address, current }`
 */
export function layout({ title, html, up }, groups) {
  const navigation = groups.map(
    ({ name, entries }) =>
      `<h2>${escaped(name)}</h2>\n<ul>\n${entries
        .map(
          (entry) =>
            `<li><a href="${up}${entry.address}"${entry.current ? ' aria-current="page"' : ''}>${escaped(entry.title)}</a></li>`,
        )
        .join('\n')}\n</ul>`,
  );
  return `<!doctype html>
<html lang="en" data-up="${up}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}${title === 'svc' ? '' : ' · svc'}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}assets/site.css">
<script src="${up}assets/search.js" defer></script>
<script src="${up}assets/site.js" defer></script>
</head>
<body>
<a class="skip" href="#site-content">Skip to the text</a>
<header>
<a class="home" href="${up}index.html">svc</a>
<div class="search" role="search">
<label for="site-search">Search</label>
<input id="site-search" type="search" placeholder="Press /" autocomplete="off" role="combobox" aria-expanded="false" aria-controls="site-results" aria-autocomplete="list">
<ul id="site-results" role="listbox" aria-label="Results" hidden></ul>
<p id="site-status" role="status"></p>
</div>
<button id="site-theme" type="button">Dark or light</button>
</header>
<nav aria-label="Pages">
${navigation.join('\n')}
</nav>
<main id="site-content" tabindex="-1">
${html}</main>
</body>
</html>
`;
}
