import type { EnvdContext, OsUser } from '../context.js';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The variables of a new process; later sources win: the daemon's PATH, the account, those of a trusted authority, the
 * sandbox's variables, the trace of the request, the request's own. Nothing else is inherited.
 */
export function processEnvironment(
  user: OsUser,
  sandbox: Pick<EnvdContext, 'envVars' | 'trustVars'>,
  request: Readonly<Record<string, string>>,
  trace: Readonly<Record<string, string>> | undefined,
  daemonPath: string | undefined,
): Record<string, string> {
  return {
    PATH: daemonPath || DEFAULT_PATH,
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
    ...sandbox.trustVars,
    ...sandbox.envVars,
    ...trace,
    ...request,
  };
}
