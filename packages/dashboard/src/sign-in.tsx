import { useState } from 'preact/hooks';
import { Notice } from './parts/notice.js';
import { signIn } from './session/session.js';

/** The form for the operator token. */
export function SignIn({ why, onSignedIn }: { why: string | undefined; onSignedIn: () => void }) {
  const [problem, setProblem] = useState(why);
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem('token') as HTMLInputElement;
    setBusy(true);
    try {
      await signIn({ token: field.value.trim() });
      onSignedIn();
    } catch (error) {
      setProblem(error instanceof TypeError ? 'The server does not answer.' : (error as Error).message);
      field.select();
    }
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>Sign in</h1>
        <p>
          For operators of this server. <code>svc dashboard</code> on its machine opens this page signed in.
        </p>
        {problem !== undefined && <Notice kind="error">{problem}</Notice>}
        <label for="token">Operator token</label>
        <input
          id="token"
          name="token"
          type="password"
          required
          autocomplete="off"
          spellcheck={false}
          autofocus
        />
        <p class="hint">
          It stands in <code>operator-token</code> in the data directory of the server.
        </p>
        <button type="submit" class="primary" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
