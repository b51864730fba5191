import { createHash, type X509Certificate } from 'node:crypto';

const ATTRIBUTES: Record<string, number[]> = {
  CN: [0x55, 0x04, 0x03],
  C: [0x55, 0x04, 0x06],
  O: [0x55, 0x04, 0x0a],
  OU: [0x55, 0x04, 0x0b],
};

/**
 * The name under which OpenSSL looks an authority up in a directory of certificates (`openssl x509 -subject_hash`): the
 * first four bytes, as a number, of SHA-1 over the subject in its canonical form.
 * @returns eight hexadecimal digits; undefined for a subject with attributes that are not known here.
 */
export function subjectHash(certificate: X509Certificate): string | undefined {
  const parts: Buffer[] = [];
  for (const line of certificate.subject.split('\n')) {
    const at = line.indexOf('=');
    const oid = ATTRIBUTES[line.slice(0, at)];
    if (oid === undefined) return undefined;
    // Canonical: UTF-8, letters of ASCII in lower case, single spaces.
    const value = line
      .slice(at + 1)
      .trim()
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
    const attribute = der(0x30, Buffer.concat([der(0x06, Buffer.from(oid)), der(0x0c, Buffer.from(value))]));
    parts.push(der(0x31, attribute));
  }
  const digest = createHash('sha1').update(Buffer.concat(parts)).digest();
  return digest.readUInt32LE(0).toString(16).padStart(8, '0');
}

/** One value of DER. Attributes of a subject have at most 64 characters. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}
