import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Engine } from '../../src/mcp-protocol/engine.ts';
import type { EngineReply } from '../../src/mcp-protocol/engine-request.ts';
import { makeFixtures } from './fixture-definition.ts';

/** Whatever a client sends, it gets an answer by the rules of its era. */

const methods = [
  ...['initialize', 'ping', 'server/discover', 'tools/list', 'prompts/list', 'tools/call'],
  ...['tools/call', 'tools/call', 'tools/call', 'tools/call', 'prompts/get'],
  ...['prompts/get', 'prompts/get', 'resources/list', 'resources/templates/list', 'resources/read'],
  ...['completion/complete', 'logging/setLevel', 'resources/subscribe', 'unknown/method'],
];
/** These ask their client for something; so does a prompt. */
const asking = [
  ...['test_input_required_result_elicitation', 'test_input_required_result_request_state'],
  ...['test_input_required_result_multi_round', 'test_elicitation_sep1034_defaults'],
];
const names = [
  ...['test_simple_text', 'test_error_handling', 'test_custom_header', 'test_missing_capability'],
  ...['test_prompt_with_arguments', 'test_input_required_result_prompt', 'nobody'],
  ...[...asking, ...asking, ...asking],
];
const uris = ['test://static-text', 'test://template/7/data', 'test://nothing', 'no uri'];
const versions = ['2026-07-28', '2025-11-25', '2025-03-26', '2024-11-05', 'v9'];

interface Sent {
  readonly jsonrpc: unknown;
  readonly id: string | number | undefined;
  readonly method: unknown;
  readonly params: unknown;
}

/** One of these, or something else altogether. */
const oneOf = (...likely: readonly unknown[]) =>
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...likely) }, fc.jsonValue({ maxDepth: 1 }));

const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.option(arbitrary, { nil: undefined, freq: 3 });

const seldom = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const prefix = 'io.modelcontextprotocol/';
const meta = fc.record({
  [`${prefix}protocolVersion`]: maybe(oneOf(...versions)),
  [`${prefix}clientCapabilities`]: maybe(oneOf({}, { elicitation: {} }, { sampling: {} })),
  [`${prefix}logLevel`]: maybe(oneOf('info', 'error')),
  progressToken: maybe(oneOf('token', 1)),
});
const answer = { action: 'accept', content: { name: 'Ada', ok: true } };
const params = fc.record({
  name: maybe(oneOf(...names)),
  uri: maybe(oneOf(...uris)),
  cursor: maybe(oneOf('', 'next')),
  arguments: maybe(oneOf({}, { region: 'north' }, { arg1: 'a', arg2: 'b' })),
  ref: maybe(
    oneOf(
      { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      { type: 'ref/resource', uri: uris[1] },
    ),
  ),
  argument: maybe(oneOf({ name: 'arg1', value: 'p' })),
  inputResponses: seldom(oneOf({ user_name: answer }, { confirm: answer }, null)),
  requestState: seldom(oneOf('', 'AAAA')),
  protocolVersion: maybe(oneOf(...versions)),
  capabilities: maybe(oneOf({}, { elicitation: {}, roots: {} })),
  _meta: maybe(fc.oneof({ weight: 9, arbitrary: meta }, fc.jsonValue())),
});
const message: fc.Arbitrary<Sent> = fc.record({
  jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, fc.jsonValue()),
  id: fc.oneof({ weight: 9, arbitrary: fc.integer() }, fc.string(), fc.constant(undefined)),
  method: oneOf(...methods),
  params: maybe(fc.oneof({ weight: 9, arbitrary: params }, fc.jsonValue())),
});

const accepts = ['application/json', 'text/event-stream', '*/*', 'text/html'];
const given = fc.record({
  accept: maybe(fc.subarray(accepts).map((some) => some.join(', '))),
  'mcp-protocol-version': maybe(fc.constantFrom(...versions)),
  'mcp-session-id': maybe(fc.constantFrom('elicitation.x', 'roots.sampling.x')),
  mend: fc.constantFrom('no', 'legacy', 'modern'),
});
type Given = typeof given extends fc.Arbitrary<infer Value> ? Value : never;

/** As it came, or mended so that it is a good one of its era but for what is in its parameters. */
function mended(sent: Sent, { mend, ...headers }: Given) {
  const isObject = typeof sent.params === 'object' && !Array.isArray(sent.params);
  if (mend === 'no' || !isObject) return { sent, headers };
  const { _meta, ...inner } = (sent.params ?? {}) as Record<string, unknown>;
  if (mend === 'legacy') {
    const all = { ...headers, accept: accepts.join(), 'mcp-protocol-version': '2025-11-25' };
    return { sent: { ...sent, jsonrpc: '2.0', params: inner }, headers: all };
  }
  const needed = {
    [`${prefix}protocolVersion`]: '2026-07-28',
    [`${prefix}clientCapabilities`]: { elicitation: {} },
  };
  const repeated = {
    ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': sent.method },
    ...{ 'mcp-name': inner.name ?? inner.uri, 'mcp-param-region': 'north' },
  };
  const params = { ...inner, _meta: needed };
  return { sent: { ...sent, jsonrpc: '2.0', params }, headers: { ...headers, ...repeated } };
}

async function ask(sent: Sent, headers: Record<string, unknown>) {
  const errors: unknown[] = [];
  const stopping = new AbortController();
  const engine = new Engine({
    definition: makeFixtures(),
    onError: (error) => errors.push(error),
    stopping: stopping.signal,
  });
  const reply = await engine.handle({
    body: JSON.stringify(sent),
    header: (name) => (typeof headers[name] === 'string' ? headers[name] : undefined),
    session: {},
    caller: { key: 'ada', isAnonymous: false },
    endpoint: '',
    signal: stopping.signal,
  });
  const texts = await textsOf(reply);
  stopping.abort();
  return { reply, messages: texts.map((text) => JSON.parse(text)), errors };
}

/** All messages; of a stream that waits for the client, those that came until then. */
async function textsOf(reply: EngineReply): Promise<string[]> {
  if (reply.kind === 'accepted') return [];
  if (reply.kind === 'message') return [reply.body];
  const texts: string[] = [];
  for await (const text of reply.messages) {
    if (text === undefined) continue;
    texts.push(text);
    const { id, method } = JSON.parse(text);
    if (id !== undefined && method !== undefined) break;
  }
  return texts;
}

const statuses = [200, 400, 404, 406];
const codes = [-32700, -32600, -32601, -32602, -32002, -32020, -32021, -32022];

it('[mcp A2, B2] every message is answered, and each era by its own rules', async () => {
  const seen = new Set<string | number>();
  const property = fc.asyncProperty(message, given, async (wild, more) => {
    const { sent, headers } = mended(wild, more);
    const { reply, messages, errors } = await ask(sent, headers);
    expect(errors).toEqual([]);
    if (sent.id === undefined) expect(reply).toEqual({ kind: 'accepted' });
    else seen.add(checkAnswer(sent, reply, messages.at(-1)));
  });
  // Of each kind that is wanted, more than twenty are to be expected.
  await fc.assert(property, { numRuns: 4_000 });
  const wanted = ['question', 'legacy result', 'complete', 'input_required', -32020, -32601];
  expect([...seen]).toEqual(expect.arrayContaining(wanted));
}, 120_000);

interface Received {
  readonly id: unknown;
  readonly method?: string;
  readonly error?: { readonly code: number };
  readonly result?: { readonly resultType?: string; readonly _meta?: Record<string, unknown> };
}

/** Gives what kind of an answer it is. */
function checkAnswer(sent: Sent, reply: EngineReply, last: Received): string | number {
  if (reply.kind === 'message') expect(statuses).toContain(reply.status);
  if (last.method !== undefined) {
    // A legacy client is asked for something, and was left waiting here.
    expect(last.id).toMatch(/^[0-9a-f-]{36}$/);
    return 'question';
  }
  expect(last).toMatchObject({ jsonrpc: '2.0', id: sent.id });
  if (last.error !== undefined) {
    expect(codes).toContain(last.error.code);
    return last.error.code;
  }
  expect(reply.kind === 'message' ? reply.status : 200).toBe(200);
  const isModern = last.result?.resultType !== undefined;
  expect(last.result?._meta?.[`${prefix}serverInfo`] !== undefined).toBe(isModern);
  const inner = (sent.params ?? {}) as { readonly _meta?: Record<string, unknown> };
  expect(isModern).toBe(inner._meta?.[`${prefix}protocolVersion`] === '2026-07-28');
  return last.result?.resultType ?? 'legacy result';
}
