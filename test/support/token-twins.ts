const orders: Readonly<Record<number, bigint>> = {
  64: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  96: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
};

/** Of the group in which Ed25519 adds (RFC 8032). */
const ed25519Order = 2n ** 252n + 27742317777372353535851937790883648493n;

/** The same token with the other signature of ECDSA, (r, n − s); by its length, P-256 or P-384. */
export function twinOf(token: string): string {
  const { signed, signature } = partsOf(token);
  const half = signature.length / 2;
  const s = BigInt(`0x${signature.subarray(half).toString('hex')}`);
  const other = ((orders[signature.length] ?? 0n) - s).toString(16).padStart(half * 2, '0');
  return withSignature(
    signed,
    Buffer.concat([signature.subarray(0, half), Buffer.from(other, 'hex')]),
  );
}

/** A token in every other form that a lenient reader could take for the same one. */
export function spellings(token: string, alg: string): readonly (readonly [string, string])[] {
  const { signed, signature } = partsOf(token);
  const [header = '', payload = ''] = signed.split('.');
  const last = token.slice(-1);
  const varied = (name: string, change: (bytes: Buffer) => Buffer) =>
    [name, withSignature(signed, change(Buffer.from(signature)))] as const;
  return [
    ...(alg.startsWith('ES') ? [['the other signature', twinOf(token)] as const] : []),
    ...(alg === 'EdDSA' ? [varied('S + L', plusOrder)] : []),
    ...(alg.startsWith('ES') ? [varied('numbers in DER', der)] : []),
    varied('a zero in front', (bytes) => Buffer.concat([Buffer.alloc(1), bytes])),
    varied('a zero behind', (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])),
    varied('zeros in front of both halves', (bytes) => {
      const [one, two] = [bytes.subarray(0, bytes.length / 2), bytes.subarray(bytes.length / 2)];
      return Buffer.concat([Buffer.alloc(1), one, Buffer.alloc(1), two]);
    }),
    ['padding', `${token}${'='.repeat((4 - (token.length % 4)) % 4 || 4)}`],
    ['base64 of another alphabet', `${signed}.${signature.toString('base64')}=`],
    ['bits that no byte has', `${token.slice(0, -1)}${neighbour(last)}A`],
    ['a blank behind', `${token} `],
    ['a blank in front', ` ${token}`],
    ['a line end behind', `${token}\n`],
    ['a blank within', `${header}. ${payload}.${signature.toString('base64url')}`],
    ['a point behind', `${token}.`],
    ['a padded payload', `${header}.${payload}==.${signature.toString('base64url')}`],
    ['a header written otherwise', `${respelt(header)}.${payload}.${tailOf(token)}`],
    ['a payload written otherwise', `${header}.${respelt(payload)}.${tailOf(token)}`],
  ];
}

function partsOf(token: string) {
  const end = token.lastIndexOf('.');
  return { signed: token.slice(0, end), signature: Buffer.from(tailOf(token), 'base64url') };
}

function tailOf(token: string): string {
  return token.slice(token.lastIndexOf('.') + 1);
}

function withSignature(signed: string, signature: Buffer): string {
  return `${signed}.${signature.toString('base64url')}`;
}

/** The same JSON, one blank longer. */
function respelt(part: string): string {
  return Buffer.from(`${Buffer.from(part, 'base64url')} `).toString('base64url');
}

function neighbour(character: string): string {
  return character === 'A' ? 'B' : 'A';
}

/** The second half is a number with its least byte first. */
function plusOrder(signature: Buffer): Buffer {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`);
  const sum = (s + ed25519Order).toString(16).padStart(64, '0');
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(sum, 'hex').reverse()]);
}

function der(signature: Buffer): Buffer {
  const half = signature.length / 2;
  const numbers = [signature.subarray(0, half), signature.subarray(half)].map((bytes) => {
    return Buffer.concat([Buffer.from([2, half + 1, 0]), bytes]);
  });
  const body = Buffer.concat(numbers);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}
