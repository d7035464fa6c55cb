import { type Attacker, answerTo, bothModes, breach, type Field, strike } from './attacker.ts';

/** Order of the group of P-256, by which signatures of ES256 have a twin. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The same token with the other of its two valid signatures. */
function twinOf(token: string): string {
  const [head = '', body = '', signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const other = Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex');
  const twin = Buffer.concat([bytes.subarray(0, 32), other]).toString('base64url');
  return [head, body, twin].join('.');
}

function withHead(token: string, head: object): string {
  const [, body = '', signature = ''] = token.split('.');
  return [Buffer.from(JSON.stringify(head)).toString('base64url'), body, signature].join('.');
}

const forgeries: readonly ((token: string) => string)[] = [
  (token) => withHead(token, { alg: 'none' }),
  (token) => withHead(token, { alg: 'HS256' }),
  (token) => withHead(token, { alg: 'ES256', kid: '../../keys/id_ecdsa' }),
  (token) => withHead(token, { alg: 'ES256', jwk: { kty: 'EC', crv: 'P-256', x: '', y: '' } }),
  (token) => token.split('.').slice(0, 2).join('.'),
  (token) => `${token}A`,
  (token) => token.replace(/^[^.]+/, ''),
  (token) => 'a.'.repeat(5_000) + token,
];

const isAccepted = async (field: Field, token: string) => {
  const as = { identity: '', token };
  return strike(field, '/v1/identity/websocket-token', { as });
};

async function revoked(field: Field): Promise<string> {
  const { text } = await answerTo(field, '/v1/identity');
  const { token } = JSON.parse(text) as { token: string };
  await strike(field, '/v1/identity/revoke', { as: { identity: '', token } });
  return token;
}

/** Tokens that nobody issued, and tokens that were given up. */
export const tokens: readonly Attacker[] = [
  {
    name: 'forged tokens',
    modes: bothModes,
    atOnce: 2,
    pauseMillis: 100,
    async attack(field, round) {
      const forge = forgeries[round % forgeries.length] ?? String;
      const status = await isAccepted(field, forge(field.stranger.token));
      return status === '200' ? breach : status;
    },
  },
  {
    name: 'revoked tokens and their twins',
    modes: bothModes,
    atOnce: 1,
    pauseMillis: 500,
    async attack(field, round) {
      const token = await revoked(field);
      const status = await isAccepted(field, round % 2 === 0 ? token : twinOf(token));
      return status === '200' ? breach : status;
    },
  },
];
