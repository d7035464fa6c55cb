import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../values/sha256.ts';
import { hmacSha256 } from './hmac-sha256.ts';
import {
  Request,
  type SignatureOptions,
  TimeDuration,
  Timestamp,
  verifySignature,
} from './index.ts';

const atSeconds = (seconds: number) => new Timestamp(BigInt(seconds) * 1_000_000n);
const signed = (headers: Record<string, string>, body: string | Uint8Array) =>
  new Request('/hook', { method: 'POST', headers, body });

// The example of GitHub's documentation, "Validating webhook deliveries".
const github = {
  options: { secret: "It's a Secret to Everybody", scheme: 'github' },
  header: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  body: 'Hello, World!',
} as const;

// The vector that the libraries of Standard Webhooks test themselves with.
const standard = {
  options: {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    scheme: 'standard-webhooks',
    now: atSeconds(1614265330),
  },
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  body: '{"test": 2432232314}',
} as const;

// Stripe's documentation shows the header and how to sign, and no secret: the codes are Node's.
const stripe = {
  options: { secret: 'whsec_test_secret', scheme: 'stripe', now: atSeconds(1492774577) },
  body: '{"id":"evt_1","object":"event","text":"für dich"}',
  code: (secret = 'whsec_test_secret', time = '1492774577') =>
    createHmac('sha256', secret).update(`${time}.`).update(stripe.body).digest('hex'),
} as const;

describe('the check of a signature', () => {
  it('[living 3.5] of GitHub holds for its body and secret alone', () => {
    const check = (
      header: string | undefined,
      body: string,
      more: Partial<SignatureOptions> = {},
    ) =>
      verifySignature(signed(header === undefined ? {} : { 'X-Hub-Signature-256': header }, body), {
        ...github.options,
        ...more,
      });
    expect(check(github.header, github.body)).toBe(true);
    expect(check(github.header, 'Hello, World?')).toBe(false);
    expect(check(github.header, github.body, { secret: 'another' })).toBe(false);
    expect(check(github.header.replace('7', '8'), github.body)).toBe(false);
    expect(check(github.header.slice(0, -2), github.body)).toBe(false);
    expect(check(github.header.slice('sha256='.length), github.body)).toBe(false);
    expect(check(`${github.header}, ${github.header}`, github.body)).toBe(false);
    for (const header of [undefined, '', 'sha256=', 'sha256=zz', 'sha1=00']) {
      expect(check(header, github.body), header).toBe(false);
    }
  });

  it('[living 3.5] of standard-webhooks holds for id, time and body', () => {
    const check = (headers: Record<string, string>, body: string = standard.body) =>
      verifySignature(signed({ ...standard.headers, ...headers }, body), standard.options);
    const right = standard.headers['webhook-signature'];
    expect(check({})).toBe(true);
    expect(check({ 'webhook-signature': `v1,AAAA v1a,${right.slice(3)} ${right}` })).toBe(true);
    expect(check({ 'webhook-id': 'msg_another' })).toBe(false);
    expect(check({ 'webhook-timestamp': '1614265331' })).toBe(false);
    expect(check({}, '{"test":2432232314}')).toBe(false);
    for (const wrong of ['', 'v1,', right.slice(3), `v1a,${right.slice(3)}`, 'v1,!', 'v1,A']) {
      expect(check({ 'webhook-signature': wrong }), wrong).toBe(false);
    }
    for (const name of Object.keys(standard.headers)) {
      const { [name as keyof typeof standard.headers]: _, ...others } = standard.headers;
      expect(verifySignature(signed(others, standard.body), standard.options), name).toBe(false);
    }
    const bare = { ...standard.options, secret: standard.options.secret.slice('whsec_'.length) };
    expect(verifySignature(signed(standard.headers, standard.body), bare)).toBe(true);
  });

  it('[living 3.5] of Stripe takes any of its v1 codes, and one time', () => {
    const check = (header: string, more: Partial<SignatureOptions> = {}) =>
      verifySignature(signed({ 'stripe-signature': header }, stripe.body), {
        ...stripe.options,
        ...more,
      });
    const right = stripe.code();
    const old = stripe.code('whsec_old');
    expect(check(`t=1492774577,v1=${right},v0=${old}`)).toBe(true);
    expect(check(`t=1492774577, v1=${old}, v1=${right}`)).toBe(true);
    expect(check(`t=1492774577,v1=${old}`)).toBe(false);
    expect(check(`t=1492774577,v0=${right}`)).toBe(false);
    expect(check(`t=1492774578,v1=${right}`)).toBe(false);
    expect(check(`t=1492774577,t=1492774577,v1=${right}`)).toBe(false);
    expect(check(`v1=${right}`)).toBe(false);
    expect(check('')).toBe(false);
    expect(check(`t=1492774577,v1=${right}`, { secret: 'whsec_old' })).toBe(false);
    const time = '1e9';
    expect(check(`t=${time},v1=${stripe.code(undefined, time)}`)).toBe(false);
  });

  it('[living 3.5] refuses times that are more than 5 minutes away, or than was said', () => {
    const check = (seconds: number, tolerance?: TimeDuration) =>
      verifySignature(signed(standard.headers, standard.body), {
        ...standard.options,
        now: atSeconds(1614265330 + seconds),
        ...(tolerance && { tolerance }),
      });
    expect([-301, -300, 300, 301].map((seconds) => check(seconds))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const tenSeconds = TimeDuration.fromMillis(10_000);
    expect([check(10, tenSeconds), check(11, tenSeconds)]).toEqual([true, false]);
    const { now: _, ...withoutTime } = standard.options;
    expect(verifySignature(signed(standard.headers, standard.body), withoutTime)).toBe(false);
  });

  it('[living 3.5] throws for what can be no secret, and no scheme', () => {
    const request = signed({ 'x-hub-signature-256': github.header }, github.body);
    const check = (options: unknown) => () => verifySignature(request, options as SignatureOptions);
    expect(check({ scheme: 'github', secret: '' })).toThrow('the secret must be a text');
    expect(check({ scheme: 'github' })).toThrow('the secret must be a text');
    expect(check({ scheme: 'standard-webhooks', secret: 'whsec_' })).toThrow('must be base64');
    expect(check({ scheme: 'standard-webhooks', secret: 'not base64' })).toThrow('must be base64');
    expect(check({ scheme: 'svix', secret: 'a' })).toThrow('there is no scheme svix');
  });
});

describe('the codes behind it', () => {
  const bytesOf = (length: number) =>
    Uint8Array.from({ length }, (_, at) => (at * 167 + length) & 255);

  it('[living 3.5] digest as Node does, at every length around a block', () => {
    for (const length of [...Array.from({ length: 140 }, (_, at) => at), 1000, 100_003]) {
      const bytes = bytesOf(length);
      const expected = createHash('sha256').update(bytes).digest('hex');
      expect(Buffer.from(sha256(bytes)).toString('hex'), String(length)).toBe(expected);
    }
  });

  it('[living 3.5] authenticate as Node does, with short and long keys and in parts', () => {
    for (const length of [0, 1, 32, 63, 64, 65, 200]) {
      const key = bytesOf(length);
      const parts = [bytesOf(3), bytesOf(0), bytesOf(70)];
      const expected = createHmac('sha256', key).update(Buffer.concat(parts)).digest('hex');
      const code = hmacSha256(key, ...parts);
      expect(Buffer.from(code).toString('hex'), String(length)).toBe(expected);
    }
  });
});
