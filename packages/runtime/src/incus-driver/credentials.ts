import { readFile } from 'node:fs/promises';
import { DriverError } from '../contract/errors.js';
import type { IncusCredentials } from '../incus/incus-client.js';
import type { IncusDriverOptions } from './options.js';

/** @throws {DriverError} `unsupported` naming the file that cannot be read, or is not named. */
export async function readCredentials(
  options: Pick<IncusDriverOptions, 'certificateFile' | 'keyFile' | 'serverCertificateFile'>,
): Promise<IncusCredentials | undefined> {
  const { certificateFile, keyFile, serverCertificateFile } = options;
  const files = [certificateFile, keyFile, serverCertificateFile];
  if (files.every((file) => file === undefined)) return undefined;
  if (files.some((file) => file === undefined))
    throw new DriverError(
      'unsupported',
      'For https, Incus needs three files: the client certificate, its key, and the certificate of Incus.',
    );
  const [certificate, key, serverCertificate] = await Promise.all(
    files.map((file) =>
      readFile(file!, 'utf8').catch((cause: NodeJS.ErrnoException) => {
        throw new DriverError('unsupported', `The file ${file} for Incus cannot be read (${cause.code}).`, {
          cause,
        });
      }),
    ),
  );
  return { certificate: certificate!, key: key!, serverCertificate: serverCertificate! };
}
