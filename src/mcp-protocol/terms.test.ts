import { describe, expect, it } from 'vitest';
import { answerOf, EngineUnderTest } from '../../test/support/engine-under-test.ts';
import { modernRequest } from '../../test/support/modern-request.ts';

const engine = new EngineUnderTest();
const versionKey = 'io.modelcontextprotocol/protocolVersion';

describe('the era of a request', () => {
  it('[mcp B2] is legacy without any sign, and then no modern rule applies', async () => {
    const { status, result } = await answerOf(engine.legacy('tools/list'));
    expect(status).toBe(200);
    expect(result).toEqual({ tools: [] });
    expect((await answerOf(engine.legacy('ping'))).result).toEqual({});
  });

  it('[mcp B2] is modern by its _meta, its header, or a method of that era only', async () => {
    const byMeta = engine.legacy('ping', { _meta: { [versionKey]: '2026-07-28' } });
    expect((await answerOf(byMeta)).status).toBe(400);
    const headers = { 'mcp-protocol-version': '2026-07-28' };
    expect((await answerOf(engine.legacy('ping', {}, { headers }))).status).toBe(400);
    for (const method of ['server/discover', 'subscriptions/listen']) {
      expect((await answerOf(engine.legacy(method, {}))).status, method).toBe(400);
    }
  });
});

describe('a legacy request', () => {
  it('[mcp B1, B3] may name each revision with a handshake', async () => {
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', ' 2025-11-25 ']) {
      const headers = { 'mcp-protocol-version': version };
      expect((await answerOf(engine.legacy('ping', {}, { headers }))).status, version).toBe(200);
    }
  });

  it('[mcp B3] of an unsupported revision is 400, but for the handshake itself', async () => {
    const headers = { 'mcp-protocol-version': '2024-11-05' };
    const { status, error, id } = await answerOf(engine.legacy('ping', {}, { headers }));
    expect([status, error.code, id]).toEqual([400, -32600, 1]);
    expect(error.message).toContain('2025-11-25');
    const hello = engine.legacy('initialize', { protocolVersion: '2024-11-05' }, { headers });
    expect((await answerOf(hello)).result.protocolVersion).toBe('2025-11-25');
  });

  it('[mcp B3] the handshake answers the version of the client, or the newest', async () => {
    for (const protocolVersion of ['2025-11-25', '2025-06-18', '2025-03-26']) {
      const { result } = await answerOf(engine.legacy('initialize', { protocolVersion }));
      expect(result.protocolVersion).toBe(protocolVersion);
    }
    for (const protocolVersion of ['2026-07-28', 'x', 7, undefined]) {
      const { result } = await answerOf(engine.legacy('initialize', { protocolVersion }));
      expect(result.protocolVersion).toBe('2025-11-25');
    }
    expect((await answerOf(engine.legacy('initialize'))).result).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'test', version: '1.0.0' },
      instructions: 'hello ada',
    });
  });
});

describe('a modern request', () => {
  const discover = (meta: object, headers: Record<string, string> = {}) =>
    answerOf(engine.modern('server/discover', {}, { meta, headers }));

  it('[mcp B4] says its version and what the client can do, or is -32602 with 400', async () => {
    const without = [
      { [versionKey]: undefined },
      { 'io.modelcontextprotocol/clientCapabilities': undefined },
      { 'io.modelcontextprotocol/clientCapabilities': [] },
      { [versionKey]: 7 },
    ];
    for (const meta of without) {
      const { status, error, id } = await discover(meta);
      expect([status, error.code, id], JSON.stringify(meta)).toEqual([400, -32602, 1]);
    }
    const bare = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'server/discover' });
    const { status, error, id } = await answerOf(engine.send(bare));
    expect([status, error.code, id]).toEqual([400, -32602, 9]);
  });

  it('[mcp B4] need not name the client, and may do so', async () => {
    expect((await discover({})).status).toBe(200);
    const clientInfo = { name: 'c', version: '1' };
    expect((await discover({ 'io.modelcontextprotocol/clientInfo': clientInfo })).status).toBe(200);
  });

  it('[mcp B4] of an unknown version is -32022, with those that are known', async () => {
    const { status, error } = await discover({ [versionKey]: 'v999.0.0' });
    expect([status, error.code]).toEqual([400, -32022]);
    expect(error.data).toEqual({ supported: ['2026-07-28'], requested: 'v999.0.0' });
    const { supportedVersions } = (await discover({})).result;
    expect(supportedVersions).toEqual(expect.arrayContaining(error.data.supported));
  });

  it('[mcp B4] with headers that differ is -32020, before its version is looked at', async () => {
    const wrong = { 'mcp-protocol-version': '2026-07-28' };
    const { status, error } = await discover({ [versionKey]: 'v999.0.0' }, wrong);
    expect([status, error.code]).toEqual([400, -32020]);
    const bare = await answerOf(engine.send(modernRequest('tools/list', {}).body));
    expect([bare.status, bare.error.code, bare.id]).toEqual([400, -32020, 1]);
  });

  it('[mcp B4] with an unknown log level is -32602', async () => {
    const { error } = await discover({ 'io.modelcontextprotocol/logLevel': 'loud' });
    expect(error.code).toBe(-32602);
    expect((await discover({ 'io.modelcontextprotocol/logLevel': 'info' })).status).toBe(200);
  });

  it('[mcp B4] for a removed or unknown method is 404 and -32601', async () => {
    const removed = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'x'];
    for (const method of [...removed, 'resources/list', 'prompts/list', 'completion/complete']) {
      const { status, error, id } = await answerOf(engine.modern(method));
      expect([status, error.code, id], method).toEqual([404, -32601, 1]);
    }
  });
});
