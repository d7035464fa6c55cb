import { describe, expect, it } from 'vitest';
import {
  answerOf,
  EngineUnderTest,
  makeTool,
  offerTools,
} from '../../test/support/engine-under-test.ts';
import type { InputRequest, InputRequired } from './input-required.ts';
import { text } from './tool.ts';

const who: InputRequest = { method: 'elicitation/create', params: { message: 'Who?' } };
const ask: InputRequired = { kind: 'inputRequired', requests: { who }, state: 'round 1' };

/** Asks until it has the answer `who`, and then returns what it got. */
const asking = (question = ask) =>
  new EngineUnderTest({
    ...offerTools(
      makeTool('greet', async (_args, { given }) => {
        const answer = given?.answers.get('who');
        if (answer === undefined) return question;
        return { content: [text(`state: ${given?.state}`)], isError: false };
      }),
    ),
    sealingKey: new Uint8Array(32).fill(7),
  });

const capable = {
  meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {} } },
};
const call = { name: 'greet', arguments: { a: 1 } };
const inputResponses = { who: { action: 'accept', content: { name: 'Ada' } } };

describe('a request that needs input', () => {
  it('[mcp B6] gets the questions and a state, and is complete with the answers', async () => {
    const engine = asking();
    const first = await engine.result('tools/call', call, capable);
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { who } });
    expect(atob(first.requestState)).not.toContain('round');
    const again = { ...call, inputResponses, requestState: first.requestState };
    const second = await engine.result('tools/call', again, capable);
    expect(second).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text', text: 'state: round 1' }],
    });
  });

  it('[mcp B6] has no state unless the tool keeps one, and then answers suffice', async () => {
    const { kind, requests } = ask;
    const engine = asking({ kind, requests });
    const first = await engine.result('tools/call', call, capable);
    expect(first).not.toHaveProperty('requestState');
    const second = await engine.result('tools/call', { ...call, inputResponses }, capable);
    expect(second.content[0].text).toBe('state: undefined');
  });

  it('[mcp B6] takes a state from the same request of the same caller only', async () => {
    const engine = asking();
    const { requestState } = await engine.result('tools/call', call, capable);
    const again = { ...call, inputResponses, requestState };
    const code = async (params: object, sent: object = {}) =>
      (await answerOf(engine.modern('tools/call', params, { ...capable, ...sent }))).error?.code;
    expect(await code(again)).toBeUndefined();
    expect(await code({ ...again, requestState: `${requestState}-TAMPERED` })).toBe(-32602);
    expect(await code({ ...again, requestState: 7 })).toBe(-32602);
    expect(await code({ ...again, arguments: { a: 2 } })).toBe(-32602);
    expect(await code(again, { session: 'bob' })).toBe(-32602);
    expect(await code(again, { endpoint: 'elsewhere' })).toBe(-32602);
  });

  it('[mcp B6] takes answers that are objects, and ignores others than it asked for', async () => {
    const engine = asking();
    const reply = (given: unknown) =>
      answerOf(engine.modern('tools/call', { ...call, inputResponses: given }, capable));
    for (const bad of [null, 7, [], { who: 12345 }]) {
      expect((await reply(bad)).error?.code, JSON.stringify(bad)).toBe(-32602);
    }
    expect((await reply({ ...inputResponses, more: {} })).result.resultType).toBe('complete');
    expect((await reply({ wrong: {} })).result.resultType).toBe('input_required');
  });

  it('[mcp B4] fails with -32021 for a client that did not declare that it can', async () => {
    const engine = asking();
    const { status, error } = await answerOf(engine.modern('tools/call', call));
    expect([status, error.code]).toEqual([400, -32021]);
    expect(error.data).toEqual({ requiredCapabilities: { elicitation: {} } });
    const sampling = asking({
      kind: 'inputRequired',
      requests: { who, more: { method: 'roots/list', params: {} } },
    });
    const { error: second } = await answerOf(sampling.modern('tools/call', call, capable));
    expect(second.data).toEqual({ requiredCapabilities: { roots: {} } });
  });

  it('[mcp B3] asks nothing of a legacy client that did not say that it can be asked', async () => {
    const { error } = await answerOf(asking().legacy('tools/call', { ...call, inputResponses }));
    expect(error.code).toBe(-32600);
  });
});
