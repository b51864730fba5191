import type { components } from '@svc/platform';
import { BuildError } from '../shared/build.js';

/** Content of the credentials file that image tools read. @throws {BuildError} */
export function authFile(registry: string, credentials: components['schemas']['FromImageRegistry']): string {
  const [username, password] = userOf(credentials);
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  return JSON.stringify({ auths: { [registry]: { auth } } });
}

function userOf(credentials: components['schemas']['FromImageRegistry']): [string, string] {
  switch (credentials.type) {
    case 'registry':
      return [credentials.username, credentials.password];
    case 'gcp':
      return ['_json_key', credentials.serviceAccountJson];
    case 'aws':
      throw new BuildError(
        "credentials of type 'aws' are not supported by this server yet: use type 'registry' with the user AWS and the output of 'aws ecr get-login-password'",
      );
  }
}
