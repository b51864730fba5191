import { type FileHandle, open } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { CertificateError, type CertificatePair } from './judge-certificate.js';

/** Files of a certificate and of its key. */
export interface CertificateFiles {
  certificate: string;
  key: string;
}

/** The properties of the files that change with their content. */
export interface ReadPair extends CertificatePair {
  /** Different for every change of one of the files. */
  state: string;
}

/** Larger is no certificate. */
const MAX_BYTES = 1_048_576;

/** @throws {CertificateError} for files that cannot be read, and for a key that everybody may read */
export async function readPair({ certificate, key }: CertificateFiles): Promise<ReadPair> {
  const one = await read('tls.certificate', certificate);
  const other = await read('tls.key', key);
  if ((other.mode & 0o007) !== 0)
    throw new CertificateError(
      `every user of this machine may use the key ${key} (mode 0${(other.mode & 0o777).toString(8)}): take that away with chmod o-rwx ${key}`,
    );
  return { certificate: one.text, key: other.text, state: `${one.state} ${other.state}` };
}

/** Identifies the files at this moment, without reading them. */
export async function stateOf(files: CertificateFiles): Promise<string> {
  const states: string[] = [];
  for (const path of [files.certificate, files.key]) {
    const file = await open(path);
    states.push(await fileState(file).finally(() => file.close()));
  }
  return states.join(' ');
}

async function read(setting: string, path: string): Promise<{ text: string; mode: number; state: string }> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(setting, path, error);
  });
  try {
    const { mode, size } = await file.stat();
    if (size > MAX_BYTES)
      throw new CertificateError(`${path} (${setting}) is too large for what it should be`);
    const state = await fileState(file);
    return { text: await file.readFile('utf8'), mode, state };
  } catch (error) {
    throw error instanceof CertificateError
      ? error
      : unreadable(setting, path, error as NodeJS.ErrnoException);
  } finally {
    await file.close();
  }
}

async function fileState(file: FileHandle): Promise<string> {
  const { ino, mtimeNs, size } = await file.stat({ bigint: true });
  return `${ino}:${mtimeNs}:${size}`;
}

function unreadable(setting: string, path: string, error: NodeJS.ErrnoException): CertificateError {
  const { code } = error;
  if (code !== 'EACCES' && code !== 'EPERM')
    return new CertificateError(`${path} (${setting}) cannot be read: ${error.message}`, { cause: error });
  const user = userInfo().username;
  return new CertificateError(
    `the user ${user} may not read ${path} (${setting}): give the file, and the way to it, to a group of that user (chgrp ${user} ${path} && chmod 640 ${path})`,
    { cause: error },
  );
}
