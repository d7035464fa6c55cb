import { afterAll, beforeAll, describe, it } from 'vitest';
import { type Inn, openInn } from './inn.ts';
import { httpDoor, type McpDoor, stdioDoor } from './mcp-doors.ts';
import { Stage, statements } from './mcp-statements.ts';

describe.each([
  ['HTTP', httpDoor],
  ['stdio', stdioDoor],
])('the MCP server over %s', (_transport, open) => {
  let inn: Inn;
  let door: McpDoor;
  beforeAll(async () => {
    inn = await openInn();
    door = await open(inn);
  });
  afterAll(async () => {
    await door.close();
    await inn.running.stop();
  });

  for (const { section, words, prove } of statements) {
    it(`[interface ${section}] ${words}`, () => prove(new Stage(inn, door)));
  }
});
