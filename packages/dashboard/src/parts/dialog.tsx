import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Failure } from './notice.js';

/** Asks before something is done, and shows why it could not be. */
export function Confirm(props: {
  title: string;
  action: string;
  dangerous?: boolean;
  /** For a form of many fields. */
  wide?: boolean;
  children?: ComponentChildren;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}) {
  const { title, action, dangerous, wide, children, onConfirm, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => before?.focus();
  }, []);
  const confirm = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby="dialog-title" onClose={onClose}>
      <form onSubmit={confirm}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        <Failure error={error} />
        <div class="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={dangerous ? 'danger' : 'primary'} disabled={busy}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
