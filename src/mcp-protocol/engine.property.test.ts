import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EngineUnderTest, makeTool, offerTools } from '../../test/support/engine-under-test.ts';
import { someRuns } from '../../test/support/share.ts';
import { metaKey } from './meta.ts';
import { protocolVersions } from './versions.ts';

const engine = new EngineUnderTest({
  ...offerTools(makeTool('echo', 'done')),
  resources: { list: async () => [], templates: async () => [], read: async () => undefined },
  prompts: () => [],
  complete: async () => ({ values: [] }),
  logs: true,
  sealingKey: new Uint8Array(32),
});

const methods = [
  ...['initialize', 'ping', 'server/discover', 'subscriptions/listen', 'tools/list', 'tools/call'],
  ...['resources/list', 'resources/templates/list', 'resources/read', 'prompts/list'],
  ...['prompts/get', 'completion/complete', 'notifications/cancelled', 'logging/setLevel', ''],
];

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const sometimes = <Value>(likely: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 4, arbitrary: likely }, { weight: 1, arbitrary: fc.jsonValue() });
const version = fc.constantFrom<string>(...protocolVersions, 'v999', '');

const meta = fc.record(
  {
    [metaKey.protocolVersion]: sometimes(version),
    [metaKey.clientCapabilities]: sometimes(fc.constant({ elicitation: {} })),
    [metaKey.logLevel]: sometimes(fc.constantFrom('debug', 'error')),
    [metaKey.progressToken]: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const params = fc.record(
  {
    _meta: sometimes(meta),
    name: sometimes(fc.constant('echo')),
    uri: fc.jsonValue(),
    cursor: fc.jsonValue(),
    arguments: fc.jsonValue(),
    ref: sometimes(fc.record({ type: fc.constantFrom('ref/prompt', 'ref/resource') })),
    argument: fc.jsonValue(),
    notifications: sometimes(fc.record({ resourceSubscriptions: fc.jsonValue() })),
    inputResponses: fc.jsonValue(),
    requestState: fc.jsonValue(),
    requestId: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    jsonrpc: sometimes(fc.constant('2.0')),
    id: sometimes(fc.oneof(fc.nat(), fc.string())),
    method: sometimes(fc.constantFrom(...methods)),
    params: sometimes(params),
    result: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const body = fc.oneof(
  fc.oneof(message, fc.array(message, { maxLength: 3 })).map((json) => JSON.stringify(json)),
  fc.string(),
);
const headers = fc.record({
  accept: maybe(fc.constantFrom('application/json', 'text/event-stream', '*/*', 'text/html')),
  'mcp-protocol-version': maybe(version),
  'mcp-method': maybe(fc.constantFrom(...methods)),
  'mcp-name': maybe(fc.constantFrom('echo', '=?base64?!?=')),
  'mcp-session-id': maybe(fc.constantFrom('elicitation.x', 'x')),
});

/** Returns the JSON texts that the client receives. */
async function answersTo(given: string, sent: object): Promise<string[]> {
  const known = Object.entries(sent).filter(([, value]) => value !== undefined);
  const reply = await engine.send(given, { headers: Object.fromEntries(known) });
  if (reply.kind === 'accepted') return [];
  if (reply.kind === 'message') return [reply.body];
  const texts: string[] = [];
  for await (const text of reply.messages) if (text !== undefined) texts.push(text);
  return texts;
}

describe('whatever a client sends', () => {
  it('[mcp A2] is taken, or answered with JSON-RPC, and is never a fault of ours', async () => {
    await fc.assert(
      fc.asyncProperty(body, headers, async (given, sent) => {
        for (const text of await answersTo(given, sent)) {
          const json = JSON.parse(text);
          for (const answer of Array.isArray(json) ? json : [json]) {
            expect(answer.jsonrpc).toBe('2.0');
            const kinds = ['result', 'error', 'method'].filter((name) => name in answer);
            expect(kinds).toHaveLength(1);
          }
        }
        expect(engine.faults).toEqual([]);
      }),
      { numRuns: someRuns(2_000) },
    );
  });

  it('[mcp A2] a request is answered once, under its id', async () => {
    const request = fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.oneof(fc.nat(), fc.string()),
      method: fc.constantFrom(...methods),
      params,
    });
    await fc.assert(
      fc.asyncProperty(request, headers, async (given, sent) => {
        const texts = await answersTo(JSON.stringify(given), sent);
        const answers = texts.map((text) => JSON.parse(text)).filter(({ id }) => id !== undefined);
        expect(answers.map(({ id }) => id)).toEqual([given.id]);
      }),
      { numRuns: someRuns(1_000) },
    );
  });
});
