import { parse as parseToml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import type { ModuleDefinition } from '../schema/definition.ts';
import { agentClients } from './agent-clients.ts';
import { limitsOf } from './agent-token.ts';

const definition = {
  tables: [{ name: 'note' }, { name: 'secret' }],
  views: [{ name: 'titles' }],
  reducers: [{ name: 'add_note' }, { name: 'start', lifecycle: 'init' }],
  procedures: [{ name: 'fetch_all' }],
} as unknown as ModuleDefinition;
const tables = ['note', 'secret', 'titles'];

describe('tokens for agents', () => {
  it('[ease 4.13] read, write by preview, or do all that reducers and SQL allow', () => {
    expect(limitsOf('read-only', definition)).toEqual({
      ...{ tables, read_only: true },
      features: ['read-only'],
    });
    expect(limitsOf('preview', definition)).toEqual({
      ...{ tables, reducers: ['add_note'], sql_writes: true },
      features: ['write-by-preview'],
    });
    expect(limitsOf('full', definition)).toEqual({
      ...{ tables, reducers: ['add_note', 'fetch_all'], sql_writes: true },
      features: ['preview', 'logs'],
    });
  });

  it('[ease 4.13] are a variable of the command in the format of each client', () => {
    const variable = 'https://eyJ.a-_b.c@db.example.com';
    const server = {
      ...{ name: 'my-db', command: 'npx', args: ['reducerdb', 'mcp', 'my-db'] },
      env: { REDUCERDB_TOKEN: variable },
    };
    for (const { word, entry } of agentClients({})) {
      const text = entry(server);
      expect([word, text.split(variable).length]).toEqual([word, 2]);
      if (word === 'codex') expect(JSON.stringify(parseToml(text))).toContain(variable);
      else if (word === 'goose')
        expect(text).toContain(`envs:\n      REDUCERDB_TOKEN: "${variable}"`);
      else expect(JSON.stringify(JSON.parse(text))).toContain('"REDUCERDB_TOKEN"');
      const { env: _, ...plain } = server;
      expect(entry(plain)).not.toContain('env');
    }
  });
});
