import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

/** A certificate and its key, both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Makes a certificate for `localhost` and 127.0.0.1 that vouches for itself. Written in DER
 * (X.690), as X.509 (RFC 5280) wants it: each part is its tag, its length, and its content.
 */
export function makeCertificate(commonName = 'localhost'): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(part(0x31, sequence(objectId('550403'), text(0x0c, commonName))));
  const day = 86_400_000;
  const validity = sequence(time(Date.now() - day), time(Date.now() + day));
  const names = sequence(text(0x82, 'localhost'), part(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(
    sequence(objectId('551d11'), part(0x04, names)),
    sequence(objectId('551d13'), part(0x04, sequence(part(0x01, Buffer.from([0xff]))))),
  );
  const version3 = part(0xa0, part(0x02, Buffer.from([2])));
  const serial = part(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)]));
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const extended = part(0xa3, extensions);
  const body = sequence(version3, serial, withSha256, name, validity, name, spki, extended);
  const signature = createSign('sha256').update(body).sign(privateKey);
  const der = sequence(body, withSha256, part(0x03, Buffer.from([0]), signature));
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function part(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : long)]), content]);
}

function sequence(...contents: Buffer[]): Buffer {
  return part(0x30, ...contents);
}

function objectId(hex: string): Buffer {
  return part(0x06, Buffer.from(hex, 'hex'));
}

function text(tag: number, content: string): Buffer {
  return part(tag, Buffer.from(content));
}

/** UTCTime: `YYMMDDhhmmssZ`. */
function time(millis: number): Buffer {
  const digits = new Date(millis).toISOString().replace(/\D/g, '').slice(2, 14);
  return text(0x17, `${digits}Z`);
}

/** ecdsa-with-SHA256 */
const withSha256 = sequence(objectId('2a8648ce3d040302'));
