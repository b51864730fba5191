// The page's search field and its choice of dark or light. The index comes as a script, as a page opened from a file may
// not fetch one.
(() => {
  const up = document.documentElement.dataset.up;
  const field = document.getElementById('site-search');
  const list = document.getElementById('site-results');
  const status = document.getElementById('site-status');
  let chosen = -1;

  const remembered = (value) => {
    // Storage is refused to pages from files in some browsers: the choice then lasts for the page.
    try {
      if (value !== undefined) localStorage.setItem('svc-theme', value);
      return localStorage.getItem('svc-theme');
    } catch {
      return null;
    }
  };
  const show = (theme) => theme && document.documentElement.setAttribute('data-theme', theme);
  show(remembered());
  document.getElementById('site-theme').addEventListener('click', () => {
    const dark =
      document.documentElement.dataset.theme ??
      (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
    const next = dark === 'dark' ? 'light' : 'dark';
    show(next);
    remembered(next);
  });

  let loading;
  const loadIndex = () => {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = `${up}assets/search-index.js`;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  };

  const close = () => {
    list.hidden = true;
    chosen = -1;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };

  const choose = (next) => {
    const options = list.children;
    if (options.length === 0) return;
    chosen = (next + options.length) % options.length;
    for (const [at, option] of [...options].entries())
      option.setAttribute('aria-selected', String(at === chosen));
    field.setAttribute('aria-activedescendant', options[chosen].id);
    options[chosen].scrollIntoView({ block: 'nearest' });
  };

  const search = async () => {
    try {
      await loadIndex();
    } catch {
      status.textContent = 'The index of the search is missing.';
      return;
    }
    const found = globalThis.searchSections(globalThis.searchIndex, field.value);
    list.replaceChildren(
      ...found.map(({ address, title, heading, extract }, at) => {
        const option = document.createElement('li');
        option.id = `site-result-${at}`;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        const name = document.createElement('strong');
        name.textContent = heading === title ? title : `${title}: ${heading}`;
        const text = document.createElement('span');
        text.textContent = extract;
        option.append(name, text);
        option.dataset.address = up + address;
        return option;
      }),
    );
    chosen = -1;
    const asked = field.value.trim() !== '';
    list.hidden = found.length === 0;
    field.setAttribute('aria-expanded', String(found.length > 0));
    status.textContent = !asked ? '' : found.length === 0 ? 'Nothing found.' : `${found.length} found`;
  };

  const open = (option) => {
    close();
    location.href = option.dataset.address;
  };
  field.addEventListener('input', search);
  field.addEventListener('focus', () => loadIndex().catch(() => undefined));
  list.addEventListener('click', (event) => {
    const option = event.target.closest('[role=option]');
    if (option) open(option);
  });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      choose(event.key === 'ArrowDown' ? chosen + 1 : Math.max(chosen, 0) - 1);
    } else if (event.key === 'Enter' && list.children.length > 0 && !list.hidden)
      open(list.children[Math.max(chosen, 0)]);
    else if (event.key === 'Escape') {
      close();
      field.blur();
    }
  });
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
  });
  document.addEventListener('click', (event) => {
    if (!event.target.closest('.search')) close();
  });
})();
