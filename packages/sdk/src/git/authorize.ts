import { InvalidRequestError } from '../errors/answer-errors.js';
import type { GitCredential } from './options.js';
import { type GitCall, type GitNetwork, type GitSandbox, refuse } from './run-git.js';

const defaultUser = 'x-access-token';

/** Lets every program of the sandbox use a credential for a host, without any of them knowing it. */
export async function authorize(call: GitCall, url: string, credential: GitCredential): Promise<void> {
  const host = hostOf(call, url);
  const value = headerOf(call, credential);
  // Settings are read, added to and replaced: two at once would lose one.
  const before = underWay.get(call.sandbox) ?? Promise.resolve();
  const done = before.then(() => addRule(call, host, value));
  underWay.set(
    call.sandbox,
    done.catch(() => {}),
  );
  await done;
}

const underWay = new WeakMap<GitSandbox, Promise<void>>();

async function addRule(call: GitCall, host: string, value: string): Promise<void> {
  const network = await call.sandbox.readNetwork(call.options);
  const headers = headersFor(network.rules ?? {}, host);
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  if (given === value) return;
  if (given !== undefined) {
    throw refuse(
      call,
      `the network settings have a rule for ${host} that sets another authorization header. Change it with sandbox.updateNetwork.`,
    );
  }
  if (network.egressProxy?.username !== undefined) {
    throw refuse(
      call,
      'the password of the egress proxy cannot be read back, so that the network settings cannot be added to. Give them whole with sandbox.updateNetwork.',
    );
  }
  const rule = { transform: { headers: { ...headers, Authorization: value } } };
  try {
    await call.sandbox.replaceNetwork(
      { ...network, rules: { ...network.rules, [host]: [rule] } },
      call.options,
    );
  } catch (error) {
    if (!InvalidRequestError.is(error)) throw error;
    throw new InvalidRequestError(
      `${call.operation}: a credential is added to requests outside of the sandbox, by a network rule, and this service does not take the rule. ${error.message}`,
      { operation: call.operation, status: error.status, requestId: error.requestId, cause: error },
    );
  }
}

function hostOf(call: GitCall, url: string): string {
  const { protocol, hostname, port } = addressOf(call, url) ?? {};
  if (protocol === 'https:' && port === '') return hostname!.toLowerCase();
  throw refuse(
    call,
    `a credential goes to https:// addresses on port 443 alone, where it is added outside of the sandbox, got ${JSON.stringify(url)}.`,
  );
}

/** An address as far as it is a URL. @throws InvalidRequestError when it holds a password: git would store it */
export function addressOf(call: GitCall, url: string): URL | undefined {
  if (url === '' || url.startsWith('-')) throw refuse(call, `${JSON.stringify(url)} is not an address.`);
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return undefined;
  }
  const named = parsed.username !== '' && parsed.protocol !== 'ssh:';
  if (parsed.password === '' && !named) return parsed;
  throw refuse(
    call,
    'the address holds a user or password, which git would store in the sandbox. Create a secret, and pass credential: secret(name).',
  );
}

function headerOf(call: GitCall, credential: GitCredential): string {
  const { username, password } =
    typeof credential === 'string' ? { username: defaultUser, password: credential } : credential;
  if (!/^\$\{svc\.[\w.-]+\}$/.test(password)) {
    throw refuse(
      call,
      'the credential must be what secret(name) gives. Store the token with client.secrets.create; as text it would be in the network settings.',
    );
  }
  if (/[:\x00-\x1f\x7f]|\$\{/.test(username)) throw refuse(call, 'the user name holds what it may not.');
  return `Basic ${username}:${password}`;
}

/** The headers that a host gets now: rules are not merged, the exact name wins, then the longest suffix. */
function headersFor(rules: NonNullable<GitNetwork['rules']>, host: string): Record<string, string> {
  const keys = Object.keys(rules).filter((key) => {
    const name = key.toLowerCase();
    return name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)));
  });
  const rank = (key: string) => (key.startsWith('*.') ? key.length : Number.POSITIVE_INFINITY);
  const [best] = keys.sort((a, b) => rank(b) - rank(a));
  return best === undefined ? {} : { ...rules[best]?.[0]?.transform?.headers };
}
