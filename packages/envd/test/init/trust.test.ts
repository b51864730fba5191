import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { subjectHash } from '../../src/init/subject-hash.js';
import { trustAuthority } from '../../src/init/trust.js';

const OTHER = '-----BEGIN CERTIFICATE-----\nb3RoZXI=\n-----END CERTIFICATE-----\n';
let scratch: string;
let root: string;
let pem: string;

const openssl = (...words: string[]) =>
  execFileSync('openssl', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const makeAuthority = async (subject: string): Promise<string> => {
  const file = path.join(scratch, 'ca.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
  openssl('req', '-x509', ...key, '-utf8', '-subj', subject, '-out', file);
  return readFile(file, 'utf8');
};
const at = (name: string) => path.join(root, name);
const bundle = '/etc/ssl/certs/ca-certificates.crt';

beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'svc-trust-'));
  pem = await makeAuthority('/O=Svc Test/CN=svc egress  Authority');
});
afterAll(() => rm(scratch, { recursive: true }));
beforeEach(async () => {
  root = await mkdtemp(path.join(scratch, 'root-'));
  await mkdir(at('/etc/ssl/certs'), { recursive: true });
  await writeFile(at(bundle), OTHER);
});

describe('the name of an authority in a directory of certificates', () => {
  it.each(['/CN=a', '/C=DE/O=Two  Words/OU=Ünit/CN=UPPER lower', `/CN=${'long '.repeat(12)}end`])(
    'is the one that OpenSSL computes: %s',
    async (subject) => {
      const made = await makeAuthority(subject);
      const file = path.join(scratch, 'ca.pem');
      expect(subjectHash(new X509Certificate(made))).toBe(
        openssl('x509', '-hash', '-noout', '-in', file).trim(),
      );
    },
  );
});

describe('trusting an authority', () => {
  it('adds it to the bundle of the system, to the hashed names, and to what update-ca-certificates reads', async () => {
    const variables = await trustAuthority(pem, root);
    const text = await readFile(at(bundle), 'utf8');
    expect(text.startsWith(OTHER)).toBe(true);
    expect(text).toContain(pem);
    const hash = subjectHash(new X509Certificate(pem))!;
    expect(await readFile(at(`/etc/ssl/certs/${hash}.0`), 'utf8')).toBe(pem);
    expect(await readFile(at('/usr/local/share/ca-certificates/svc-egress.crt'), 'utf8')).toBe(pem);
    expect(variables).toMatchObject({
      SSL_CERT_FILE: at(bundle),
      REQUESTS_CA_BUNDLE: at(bundle),
      CURL_CA_BUNDLE: at(bundle),
      GIT_SSL_CAINFO: at(bundle),
      PIP_CERT: at(bundle),
    });
    expect(await readFile(variables.NODE_EXTRA_CA_CERTS!, 'utf8')).toBe(pem);
    expect(openssl('verify', '-CApath', at('/etc/ssl/certs'), variables.NODE_EXTRA_CA_CERTS!)).toMatch(/OK/);
  });

  it('adds it once, however often it is asked, and replaces an earlier one', async () => {
    await trustAuthority(pem, root);
    const once = await readFile(at(bundle), 'utf8');
    await trustAuthority(pem, root);
    expect(await readFile(at(bundle), 'utf8')).toBe(once);
    const next = await makeAuthority('/CN=next');
    await trustAuthority(next, root);
    const text = await readFile(at(bundle), 'utf8');
    expect(text).toContain(next);
    expect(text).not.toContain(pem);
  });

  it('takes everything back for an empty text', async () => {
    await trustAuthority(pem, root);
    expect(await trustAuthority('', root)).toEqual({});
    expect(await readFile(at(bundle), 'utf8')).toBe(OTHER);
    const hash = subjectHash(new X509Certificate(pem))!;
    await expect(readlink(at(`/etc/ssl/certs/${hash}.0`))).rejects.toThrow(/ENOENT/);
    await expect(stat(at('/usr/local/share/ca-certificates/svc-egress.crt'))).rejects.toThrow(/ENOENT/);
  });

  it('keeps links, and takes the next number where the hashed name is taken', async () => {
    await mkdir(at('/etc/pki/tls/certs'), { recursive: true });
    await symlink('../../../ssl/certs/ca-certificates.crt', at('/etc/pki/tls/certs/ca-bundle.crt'));
    const hash = subjectHash(new X509Certificate(pem))!;
    await writeFile(at(`/etc/ssl/certs/${hash}.0`), OTHER);
    await trustAuthority(pem, root);
    expect(await readlink(at('/etc/pki/tls/certs/ca-bundle.crt'))).toMatch(/ca-certificates/);
    expect((await readFile(at(bundle), 'utf8')).split(pem)).toHaveLength(2);
    expect(await readFile(at(`/etc/ssl/certs/${hash}.1`), 'utf8')).toBe(pem);
  });

  it('makes a bundle with the well-known authorities where there is none', async () => {
    await rm(at(bundle));
    await trustAuthority(pem, root);
    const text = await readFile(at(bundle), 'utf8');
    expect(text.split('BEGIN CERTIFICATE').length).toBeGreaterThan(100);
    expect(text).toContain(pem);
  });

  it('has keytool put it into the keystore of Java, where there is one', async () => {
    const java = at('/usr/lib/jvm/java-17');
    await mkdir(path.join(java, 'lib/security'), { recursive: true });
    await mkdir(path.join(java, 'bin'));
    await writeFile(path.join(java, 'lib/security/cacerts'), '');
    await writeFile(path.join(java, 'bin/keytool'), `#!/bin/sh\necho "$@" >> ${root}/called\n`);
    await chmod(path.join(java, 'bin/keytool'), 0o755);
    await trustAuthority(pem, root);
    const called = await readFile(at('/called'), 'utf8');
    expect(called).toMatch(/^-delete .*\n-importcert -noprompt .*-keystore .*cacerts.*-alias svc-egress\n$/);
  });
});
