import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { Log } from '../../src/api/context/context.js';
import { Certificates, openCertificates } from '../../src/process/tls/certificates.js';
import { CertificateError, judgeCertificate } from '../../src/process/tls/judge-certificate.js';
import { makeCertificate, writeCertificate } from './made-certificate.js';

describe('a certificate', () => {
  it('is good with its key, and worth a remark before it ends', async () => {
    const pair = await makeCertificate();
    expect(judgeCertificate(pair, Date.now())).toBeUndefined();
    expect(judgeCertificate(await makeCertificate({ to: 3 }), Date.now())).toMatch(
      /^The certificate ends on /,
    );
  });

  it('is refused with the key of another, when it ended, and before it begins', async () => {
    const pair = await makeCertificate();
    const other = await makeCertificate();
    const judge = (given: typeof pair) => () => judgeCertificate(given, Date.now());
    expect(judge({ ...pair, key: other.key })).toThrow('tls.key is not the key of tls.certificate');
    expect(judge(await makeCertificate({ from: -9, to: -2 }))).toThrow(/ended on .*: renew it/);
    expect(judge(await makeCertificate({ from: 2 }))).toThrow('valid from');
  });

  it.each([
    ['certificate', '', 'holds no certificate in PEM'],
    ['certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'holds no certificate'],
    ['key', 'secret text', 'holds no private key in PEM'],
    ['key', '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n', 'encrypted with a passphrase'],
  ])('is refused with a %s that is %j, and the message shows nothing of it', async (part, text, why) => {
    const pair = { ...(await makeCertificate()), [part]: text };
    expect(() => judgeCertificate(pair, Date.now())).toThrow(why);
    expect(() => judgeCertificate(pair, Date.now())).not.toThrow('secret text');
  });
});

describe('the files of a certificate', () => {
  let directory: string;
  const lines: string[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${String((fields as { err?: Error }).err?.message ?? '')}`);
  const log = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [level, note(level)]),
  ) as unknown as Log;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certificates-'));
    lines.length = 0;
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const open = (files: { certificate?: string; key?: string }) =>
    openCertificates(files, { log, now: Date.now, lookMs: 20 });

  it('belong together, and none at all is plain HTTP', async () => {
    expect(await open({})).toBeUndefined();
    await expect(open({ certificate: '/x' })).rejects.toThrow('tls.key is missing');
    await expect(open({ key: '/x' })).rejects.toThrow('tls.certificate is missing');
  });

  it('are refused with a sentence when they are not there, too large, or a key that everybody may read', async () => {
    const files = await writeCertificate(directory, await makeCertificate());
    await chmod(files.key, 0o644);
    const refused = open(files);
    await expect(refused).rejects.toThrow(CertificateError);
    await expect(refused).rejects.toThrow(`chmod o-rwx ${files.key}`);
    await chmod(files.key, 0o640);
    await (await open(files))?.close();
    await expect(open({ ...files, key: join(directory, 'none') })).rejects.toThrow('cannot be read: ENOENT');
    await expect(open({ ...files, certificate: directory })).rejects.toThrow('cannot be read: EISDIR');
    await writeFile(files.certificate, 'x'.repeat(2 ** 21));
    await expect(open(files)).rejects.toThrow('too large');
  });

  it('are taken when they change, by themselves, and stay in use when what comes is no good', async () => {
    const first = await makeCertificate();
    const second = await makeCertificate();
    const files = await writeCertificate(directory, first);
    const certificates = await Certificates.open({ files, log, now: Date.now, lookMs: 20 });
    try {
      // Half of a renewal: the certificate of one, the key of the other.
      await writeFile(join(directory, 'next'), second.certificate);
      await rename(join(directory, 'next'), files.certificate);
      await eventually('the bad pair to be seen', () =>
        lines.some((line) => /error .*not the key of/.test(line)),
      );
      expect(certificates.options).toMatchObject({ cert: first.certificate, key: first.key });
      await writeFile(join(directory, 'next'), second.key, { mode: 0o600 });
      await rename(join(directory, 'next'), files.key);
      await eventually('the pair to be taken', () => certificates.options.cert === second.certificate);
      expect(certificates.options.key).toBe(second.key);
    } finally {
      await certificates.close();
    }
    expect(lines.join('\n')).not.toContain('PRIVATE KEY-----\n');
  });
});
