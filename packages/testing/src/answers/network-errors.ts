/** Failures of a connection, as `fetch` of Node shows them. */
const failure = (text: string, message: string, code: string): Error =>
  new TypeError(text, { cause: Object.assign(new Error(message), { code }) });

/** Nothing listens: the request certainly did not arrive. */
export const connectionRefused = (): Error => failure('fetch failed', 'connect ECONNREFUSED', 'ECONNREFUSED');

/** The other side hung up before it answered: the request may have arrived. */
export const connectionReset = (): Error => failure('fetch failed', 'other side closed', 'UND_ERR_SOCKET');

/** The other side hung up in the middle of its answer. */
export const answerBroken = (): Error => failure('terminated', 'other side closed', 'UND_ERR_SOCKET');
