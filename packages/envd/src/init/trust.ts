import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { rootCertificates } from 'node:tls';
import { promisify } from 'node:util';
import { writeAtomically } from '../startup/write-atomically.js';
import { subjectHash } from './subject-hash.js';

/** Where distributions keep the certificates that everything trusts, in one file. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
/** Where `update-ca-certificates` takes further ones from, so that ours survives it. */
const LOCAL = '/usr/local/share/ca-certificates/svc-egress.crt';
const HASHED = '/etc/ssl/certs';
const NAME = 'svc-egress.pem';
const KEYSTORES = ['/etc/ssl/certs/java/cacerts', '/opt/java/openjdk/lib/security/cacerts'];
const JVMS = '/usr/lib/jvm';
const BEGIN = '# svc egress authority: begin\n';
const END = '# svc egress authority: end\n';
const KEYTOOL_MS = 15_000;

/** Variables that make programs trust an authority which do not read the system's bundle by themselves. */
export type TrustVariables = Readonly<Record<string, string>>;

/**
 * Makes the programs of this system trust a certificate authority: the system's bundle, the directory of hashed names,
 * the keystores of Java. Does nothing that is done already.
 * @param pem empty: takes back what was done.
 * @param root for tests: the directory in place of `/`.
 * @returns the variables that new processes get.
 * @throws {Error} when the certificate cannot be read or a file cannot be written.
 */
export async function trustAuthority(pem: string, root = '/'): Promise<TrustVariables> {
  const at = (name: string) => path.join(root, name);
  if (pem === '') {
    await Promise.all((await existing(BUNDLES.map(at))).map((file) => putBlock(file, '')));
    await Promise.all([unlinkHashed(at(HASHED)), rm(at(LOCAL), { force: true })]);
    return {};
  }
  const certificate = new X509Certificate(pem);
  const text = certificate.toString();
  await putFile(at(LOCAL), text);
  let bundles = await existing(BUNDLES.map(at));
  if (bundles.length === 0) {
    // A program that is pointed at a bundle trusts nothing else.
    await putFile(at(BUNDLES[0]!), `${rootCertificates.join('\n')}\n`);
    bundles = [at(BUNDLES[0]!)];
  }
  await Promise.all(bundles.map((file) => putBlock(file, text)));
  await linkHashed(at(HASHED), at(LOCAL), subjectHash(certificate));
  await Promise.all((await keystores(at)).map((store) => importInto(store, at(LOCAL), at)));
  const bundle = bundles[0]!;
  return {
    NODE_EXTRA_CA_CERTS: at(LOCAL),
    SSL_CERT_FILE: bundle,
    REQUESTS_CA_BUNDLE: bundle,
    CURL_CA_BUNDLE: bundle,
    GIT_SSL_CAINFO: bundle,
    PIP_CERT: bundle,
  };
}

async function existing(files: string[]): Promise<string[]> {
  const found = await Promise.all(
    files.map((file) =>
      stat(file).then(
        (entry) => (entry.isFile() ? file : undefined),
        () => undefined,
      ),
    ),
  );
  return found.filter((file) => file !== undefined);
}

async function putFile(file: string, text: string): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text, { mode: 0o644 });
}

/** Puts our part at the end of a bundle, in place of an earlier one. */
async function putBlock(file: string, pem: string): Promise<void> {
  const before = await readFile(file, 'utf8');
  const from = before.indexOf(BEGIN);
  const to = before.indexOf(END, from);
  const others = from < 0 || to < 0 ? before : before.slice(0, from) + before.slice(to + END.length);
  const known = pem === '' || others.includes(pem.trim());
  const after = known ? others : `${others}${others.endsWith('\n') ? '' : '\n'}${BEGIN}${pem}${END}`;
  if (after === before) return;
  // A concurrent reader sees the whole file, and a link stays a link.
  await writeAtomically(await realpath(file), Buffer.from(after));
}

async function linkHashed(directory: string, target: string, hash: string | undefined): Promise<void> {
  await mkdir(directory, { recursive: true });
  await link(target, path.join(directory, NAME));
  if (hash === undefined) return;
  // OpenSSL tries .0, .1 and so on until a name is missing.
  for (let number = 0; ; number += 1) {
    const name = path.join(directory, `${hash}.${number}`);
    const there = await readlink(name).catch(async () =>
      (await existing([name])).length > 0 ? '' : undefined,
    );
    if (there === NAME) return;
    if (there === undefined) return link(NAME, name);
  }
}

async function link(target: string, name: string): Promise<void> {
  if ((await readlink(name).catch(() => undefined)) === target) return;
  await rm(name, { force: true });
  await symlink(target, name);
}

async function unlinkHashed(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const ours = await Promise.all(
    names.map(async (name) =>
      /^[0-9a-f]{8}\.\d+$/.test(name) &&
      (await readlink(path.join(directory, name)).catch(() => undefined)) === NAME
        ? name
        : undefined,
    ),
  );
  for (const name of [NAME, ...ours])
    if (name !== undefined) await rm(path.join(directory, name), { force: true });
}

async function keystores(at: (name: string) => string): Promise<string[]> {
  const versions = await readdir(at(JVMS)).catch(() => []);
  const files = [
    ...KEYSTORES.map(at),
    ...versions.map((version) => path.join(at(JVMS), version, 'lib/security/cacerts')),
  ];
  const real = await Promise.all((await existing(files)).map((file) => realpath(file)));
  return [...new Set(real)];
}

/** A keystore that cannot be changed is left as it is: Java is one of many programs here. */
async function importInto(store: string, certificate: string, at: (name: string) => string): Promise<void> {
  const own = path.resolve(store, '../../../bin/keytool');
  const [keytool] = await existing([own, at('/usr/bin/keytool')]);
  if (keytool === undefined) return;
  const run = (...words: string[]) =>
    promisify(execFile)(
      keytool,
      [...words, '-keystore', store, '-storepass', 'changeit', '-alias', 'svc-egress'],
      {
        timeout: KEYTOOL_MS,
      },
    );
  await run('-delete').catch(() => {});
  await run('-importcert', '-noprompt', '-trustcacerts', '-file', certificate).catch(() => {});
}
