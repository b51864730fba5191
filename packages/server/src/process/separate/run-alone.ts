import { randomBytes } from 'node:crypto';
import { chmod, chown, rename, rm, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { selectDriver } from '@svc/runtime/host';
import { DriverLog, serveDriver } from '@svc/runtime/remote';
import { driverPrograms, linuxOptions } from '../../config/driver-options.js';
import { loadConfig } from '../../config/load.js';
import { prepareDataLayout, runtimeSocket, runtimeTokenFile } from '../../storage/data/data-layout.js';
import { findHindrance, findServiceUser, ServiceUserError } from '../../storage/data/service-user.js';
import { hardenProcess } from '../harden-process.js';
import { afterPredecessor } from './after-predecessor.js';

/** Serves one server, which runs as the service user and finds the token beside the socket. */
export async function runAlone(): Promise<void> {
  const { values } = parseArgs({
    options: {
      user: { type: 'string' },
      config: { type: 'string' },
      'data-dir': { type: 'string' },
    },
  });
  const options = await loadConfig({
    ...(values.config === undefined ? {} : { file: values.config }),
    flags: {
      ...(values.user === undefined ? {} : { user: values.user }),
      ...(values['data-dir'] === undefined ? {} : { dataDir: values['data-dir'] }),
    },
  });
  const problems = await hardenProcess();
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  const user = await findServiceUser(options.user);
  const hindrance = await findHindrance(user, options.dataDir);
  if (hindrance !== undefined) throw new ServiceUserError(hindrance);
  const layout = await prepareDataLayout(options.dataDir, user);
  const log = new DriverLog();
  const { driver } = await afterPredecessor(() =>
    selectDriver({
      dataDir: layout.runtime,
      ...driverPrograms(),
      preferred: 'linux',
      linux: linuxOptions(options),
      log: log.write,
    }),
  );
  const socketPath = runtimeSocket(options.dataDir);
  const token = randomBytes(32).toString('hex');
  await writeToken(runtimeTokenFile(socketPath), token, user.gid);
  const served = await serveDriver(driver, {
    socketPath,
    token,
    owner: { uid: user.uid, gid: user.gid },
    log,
  });
  process.stdout.write(`svc-runtime serves ${socketPath}\n`);
  const stopped = new Promise<void>((resolve) => process.once('SIGTERM', resolve));
  await Promise.race([stopped, served.abandoned, served.closed]);
  await served.close();
  await rm(runtimeTokenFile(socketPath), { force: true });
}

/** Only root can write to the directory, so nobody can have put a link there. */
async function writeToken(file: string, token: string, gid: number): Promise<void> {
  const draft = `${file}.new`;
  await rm(draft, { force: true });
  await writeFile(draft, `${token}\n`, { mode: 0o600, flag: 'wx' });
  await chown(draft, 0, gid);
  await chmod(draft, 0o640);
  await rename(draft, file);
}
