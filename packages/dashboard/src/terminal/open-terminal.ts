import type { Sandbox } from '@svc/sdk';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';

/** Name of shells that were opened here. */
const TAG = 'dashboard';

export interface OpenTerminal {
  /** Settles when the shell has ended, with how. */
  ended: Promise<string>;
  /** Ends the shell. */
  kill(): Promise<boolean>;
  /** Leaves the page; the shell continues and can be opened again. */
  leave(): void;
}

/** Shows a shell of the sandbox: the one that was opened here before, as long as it runs, else a new one. */
export async function openTerminal(
  root: HTMLElement,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<OpenTerminal> {
  const restoreStyles = divertStyles();
  const terminal = new Terminal({
    cursorBlink: true,
    fontFamily: getComputedStyle(root).fontFamily,
    fontSize: 13,
    scrollback: 5_000,
    screenReaderMode: false,
    // Links that a program prints lead nowhere from here.
    linkHandler: null,
    theme: { background: '#12161c', foreground: '#e6eaf0', cursor: '#93b4ff' },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(root);
  fit.fit();
  const close = () => {
    terminal.dispose();
    restoreStyles();
  };
  try {
    const { cols, rows } = terminal;
    const onData = (data: Uint8Array) => new Promise<void>((resolve) => terminal.write(data, resolve));
    const opening = (async () => {
      const known = (await sandbox.commands.list({ signal })).find(({ tag }) => tag === TAG);
      if (known === undefined)
        return sandbox.pty.create({ cols, rows, tag: TAG, onData, killOnAbort: false });
      const session = await sandbox.pty.connect(known.pid, { onData });
      await session.resize({ cols, rows });
      return session;
    })();
    // Input that is typed meanwhile waits, in its order. A shell that has ended takes nothing.
    const type = (data: string | Uint8Array) =>
      void opening.then((session) => session.write(data)).catch(() => undefined);
    terminal.onData(type);
    terminal.onBinary((text) => type(Uint8Array.from(text, (character) => character.charCodeAt(0))));
    terminal.focus();
    const session = await opening;
    if (signal.aborted) {
      session.disconnect();
      throw signal.reason;
    }
    terminal.onResize((size) => void session.resize(size).catch(() => undefined));
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(root);
    return {
      ended: session.wait().then(({ exitCode, error }) => error ?? `exit status ${exitCode}`),
      kill: () => session.kill(),
      leave: () => {
        observer.disconnect();
        session.disconnect();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * xterm writes its rules into `style` elements, which the policy of the page refuses. Until the function that is given back is called,
 * what is written into any such element goes into a constructed style sheet instead.
 */
function divertStyles(): () => void {
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
