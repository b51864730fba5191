/**
 * xterm writes its rules into `style` elements, which the policy of the page refuses. Until the function that is given back is called,
 * what is written into any such element goes into a constructed style sheet instead.
 */
export function divertStyles(): () => void {
  const sheets = new Map<HTMLStyleElement, { sheet: CSSStyleSheet; text: string }>();
  Object.defineProperty(HTMLStyleElement.prototype, 'textContent', {
    configurable: true,
    get(this: HTMLStyleElement): string {
      return sheets.get(this)?.text ?? '';
    },
    set(this: HTMLStyleElement, text: string) {
      const { sheet } = sheets.get(this) ?? { sheet: new CSSStyleSheet() };
      if (!sheets.has(this)) document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
      sheets.set(this, { sheet, text });
      sheet.replaceSync(text);
    },
  });
  return () => {
    Reflect.deleteProperty(HTMLStyleElement.prototype, 'textContent');
    const own = new Set([...sheets.values()].map(({ sheet }) => sheet));
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !own.has(sheet));
  };
}
