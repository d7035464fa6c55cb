import { expect, it } from 'vitest';
import { AgentHost, ada, contextOf } from '../../test/support/agent-host.ts';
import { JsonObject, parseJson } from '../values/json.ts';
import { flagArgument } from './tool.ts';
import { createBackupTool } from './tools/backups.ts';

function given(text: string): JsonObject {
  const args = parseJson(text);
  if (args instanceof JsonObject) return args;
  throw new Error('arguments are an object');
}

it('[mcp B23] a flag is true, false or absent', async () => {
  expect(flagArgument(given('{"history":true}'), 'history')).toBe(true);
  for (const text of ['{}', '{"history":null}', '{"history":false}']) {
    expect(flagArgument(given(text), 'history'), text).toBe(false);
  }
  const agents = await AgentHost.open();
  try {
    await agents.publish('library');
    const context = contextOf(agents.session(ada, 'library', ['backup']));
    for (const text of ['"yes"', '1', '[]', '"true"']) {
      const call = createBackupTool.run(given(`{"history":${text}}`), context);
      await expect(call, text).rejects.toThrow('history argument must be true or false');
    }
  } finally {
    await agents.close();
  }
});
