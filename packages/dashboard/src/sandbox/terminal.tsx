import { useEffect, useRef, useState } from 'preact/hooks';
import { Failure, Notice } from '../parts/notice.js';
import type { OpenTerminal } from '../terminal/open-terminal.js';
import type { TabProps } from './tab-props.js';

/** A shell in the sandbox. */
export function TerminalTab({ handle, detail }: TabProps) {
  const root = useRef<HTMLDivElement>(null);
  const open = useRef<OpenTerminal>();
  const [turn, setTurn] = useState(0);
  const [error, setError] = useState<unknown>();
  const [end, setEnd] = useState<string>();
  const running = detail.state === 'running';
  useEffect(() => {
    if (!running || root.current === null) return undefined;
    const over = new AbortController();
    setError(undefined);
    setEnd(undefined);
    const show = async (element: HTMLElement) => {
      const { openTerminal } = await import('../terminal/open-terminal.js');
      const terminal = await openTerminal(element, handle, over.signal);
      if (over.signal.aborted) return terminal.leave();
      open.current = terminal;
      terminal.ended.then(
        (how) => !over.signal.aborted && setEnd(how),
        (thrown) => !over.signal.aborted && setError(thrown),
      );
    };
    show(root.current).catch((thrown) => !over.signal.aborted && setError(thrown));
    return () => {
      over.abort();
      open.current?.leave();
      open.current = undefined;
    };
  }, [detail.sandboxId, running, turn]);
  if (!running) return <Notice kind="info">The sandbox is paused. Resume it to open a terminal.</Notice>;
  return (
    <>
      <Failure error={error} />
      {end !== undefined && <Notice kind="info">The shell has ended: {end}.</Notice>}
      <div class="terminal-tools">
        <span class="faint">A shell continues when you leave this page; come back and it is here.</span>
        {end === undefined && error === undefined ? (
          <button type="button" onClick={() => void open.current?.kill()}>
            End shell
          </button>
        ) : (
          <button type="button" onClick={() => setTurn(turn + 1)}>
            Open a shell
          </button>
        )}
      </div>
      <section class="shell-screen" aria-label="Terminal" ref={root} />
    </>
  );
}
