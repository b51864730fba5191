import { sign } from './sign.js';
import { unwrap, verify } from './verify.js';

/** Checks of what webhooks deliver, with WebCrypto alone: usable in every runtime, without a client. */
export const webhooks = { verify, unwrap, sign };
