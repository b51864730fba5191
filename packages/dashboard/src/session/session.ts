/** Where the proof of the session is kept. It opens nothing without the cookie, which no script reads. */
const PROOF = 'svc-dashboard-proof';
const base = `${location.origin}/dashboard`;

let onEnd: () => void = () => {};

/** Calls back when the session is over. */
export function whenSessionEnds(told: () => void): void {
  onEnd = told;
}

/** Why nobody is signed in; undefined: somebody is. */
export async function checkSession(): Promise<'none' | undefined> {
  if (localStorage.getItem(PROOF) === null) return 'none';
  const response = await sessionFetch(new Request(`${base}/session`));
  return response.ok ? undefined : 'none';
}

/** Signs in with the operator token, or the code of a link. @throws {Error} with what the server says */
export async function signIn(credential: { token: string } | { code: string }): Promise<void> {
  const response = await fetch(`${base}/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(credential),
  });
  const answer = (await response.json()) as { proof?: string; message?: string };
  if (!response.ok || answer.proof === undefined)
    throw new Error(answer.message ?? `The server answered ${response.status}.`);
  localStorage.setItem(PROOF, answer.proof);
}

export async function signOut(): Promise<void> {
  await sessionFetch(new Request(`${base}/session`, { method: 'DELETE' })).catch(() => undefined);
  localStorage.removeItem(PROOF);
  onEnd();
}

/** `fetch` as the session. Notifies when there is none any more. */
export async function sessionFetch(request: Request, init?: RequestInit): Promise<Response> {
  request.headers.set('Svc-Dashboard', localStorage.getItem(PROOF) ?? '');
  const response = await fetch(request, { ...init, credentials: 'same-origin', redirect: 'error' });
  if (response.status === 401 && response.headers.get('svc-dashboard-session') === 'none') {
    localStorage.removeItem(PROOF);
    onEnd();
  }
  return response;
}
