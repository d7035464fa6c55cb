import { expect } from 'vitest';
import type { Inn } from './inn.ts';
import type { McpDoor, Who } from './mcp-doors.ts';

/** A statement of the interface about the MCP server, and its proof through any door. */
export interface Statement {
  readonly section: string;
  readonly words: string;
  prove(stage: Stage): Promise<void>;
}

/** The service behind a door, and how its tools are used. */
export class Stage {
  readonly inn: Inn;
  readonly #door: McpDoor;

  constructor(inn: Inn, door: McpDoor) {
    this.inn = inn;
    this.#door = door;
  }

  /** Tools by name, as a client reads them. */
  async tools(database?: string): Promise<Map<string, ToolShape>> {
    const { result } = await this.#door.send(database, 'nobody', 'tools/list', {});
    const tools = result?.tools as readonly ToolShape[];
    return new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** The message of an error of the protocol. */
  async error(database: string | undefined, name: string, args: object): Promise<string> {
    const params = { name, arguments: args };
    const { error } = await this.#door.send(database, 'nobody', 'tools/call', params);
    return error?.message ?? 'no error';
  }

  /** The text of a tool of a server, as a result or as an error in it. */
  async text(
    database: string | undefined,
    name: string,
    args: object = {},
    as: Who = 'nobody',
  ): Promise<{ text: string; isError: boolean }> {
    const { result, error } = await this.#door.send(database, as, 'tools/call', {
      name,
      arguments: args,
    });
    const [text] = result?.content ?? [];
    if (text === undefined) throw new Error(error?.message);
    return { text: text.text, isError: result?.isError === true };
  }

  /** What a tool of both servers answers, which must be the same. */
  async both(
    name: string,
    args: object,
    as: Who = 'nobody',
  ): Promise<{ text: string; isError: boolean }> {
    const scoped = await this.text('inn', name, args, as);
    const hostWide = await this.text(undefined, name, { database: 'inn', ...args }, as);
    // Each call is a connection, which this module notes, so the offset is the one difference.
    const plain = (text: string) => text.replace(/"offset":\d+/, '');
    expect(plain(hostWide.text)).toBe(plain(scoped.text));
    expect(hostWide.isError).toBe(scoped.isError);
    return scoped;
  }

  async succeeds(name: string, args: object, as: Who = 'nobody'): Promise<string> {
    const { text, isError } = await this.both(name, args, as);
    expect({ text, isError }).toEqual({ text, isError: false });
    return text;
  }

  async fails(name: string, args: object, as: Who = 'nobody'): Promise<string> {
    const { text, isError } = await this.both(name, args, as);
    expect({ text, isError }).toEqual({ text, isError: true });
    return text;
  }

  async rows(sql: string, as: Who = 'nobody'): Promise<unknown[][]> {
    return JSON.parse(await this.succeeds('sql', { sql }, as))[0].rows;
  }
}

interface ToolShape {
  readonly name: string;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { readonly type: string }>>;
    readonly required?: readonly string[];
  };
}

const dataTools = ['get_schema', 'sql', 'call'];
const scopedTools = ['ping', ...dataTools];

/** Arguments that a tool needs beside the database. */
const needed: Readonly<Record<string, object>> = {
  get_schema: {},
  sql: { sql: 'SELECT * FROM person' },
  call: { reducer: 'count_visit' },
};

/** Statements about which server has which tools: section 4.3. */
const modes: readonly Statement[] = [
  {
    section: '4.3',
    words: 'without a database the server is host-wide, with one it is for that database',
    prove: async (stage) => {
      expect([...(await stage.tools()).keys()]).toEqual(['list_databases', ...scopedTools]);
      expect([...(await stage.tools('inn')).keys()]).toEqual(scopedTools);
      expect([...(await stage.tools(stage.inn.identity)).keys()]).toEqual(scopedTools);
    },
  },
  {
    section: '4.3',
    words: 'host-wide, `database` is required on every data tool, a name or an identity',
    prove: async (stage) => {
      const tools = await stage.tools();
      for (const name of dataTools) {
        expect(tools.get(name)?.inputSchema.required?.[0]).toBe('database');
        for (const database of ['inn', stage.inn.identity]) {
          const args = { database, ...needed[name] };
          expect((await stage.text(undefined, name, args)).isError).toBe(false);
        }
      }
    },
  },
  {
    section: '4.3',
    words: 'in a database, `database` is not accepted: path or command have fixed it',
    prove: async (stage) => {
      for (const [name, { inputSchema }] of await stage.tools('inn')) {
        expect(inputSchema.properties).not.toHaveProperty('database');
        const answer = (database: string) => {
          return stage.text('inn', name, { database, ...needed[name] });
        };
        expect((await answer('inn')).isError).toBe(false);
        if (name === 'ping') continue;
        expect(await answer('nobody')).toEqual({
          text: 'this server is for `inn` only; leave out `database`',
          isError: true,
        });
      }
    },
  },
  {
    section: '4.3',
    words: 'the tool list is the authority on the tool shape',
    prove: async (stage) => {
      const shapes = [...(await stage.tools())].map(([name, { inputSchema }]) => [
        name,
        Object.keys(inputSchema.properties),
        inputSchema.required,
      ]);
      expect(shapes).toEqual([
        ['list_databases', [], undefined],
        ['ping', ['message'], undefined],
        ['get_schema', ['database'], ['database']],
        ['sql', ['database', 'sql', 'confirmed'], ['database', 'sql']],
        ['call', ['database', 'reducer', 'args'], ['database', 'reducer']],
      ]);
    },
  },
];

/** Statements about what each tool does: section 4.4. */
const behaviour: readonly Statement[] = [
  {
    section: '4.4',
    words: '`list_databases` lists the databases that the identity of the caller owns',
    prove: async (stage) => {
      expect(await stage.text(undefined, 'list_databases', {}, 'nobody')).toEqual({
        text: '{"databases":[]}',
        isError: false,
      });
      const { text } = await stage.text(undefined, 'list_databases', {}, 'owner');
      const { identity } = stage.inn;
      expect(JSON.parse(text)).toEqual({ databases: [{ identity, names: ['inn'] }] });
    },
  },
  {
    section: '4.4',
    words: '`ping` is a health check that echoes the optional message',
    prove: async (stage) => {
      expect(await stage.succeeds('ping', {})).toBe('pong');
      expect(await stage.succeeds('ping', { message: 'hi' })).toBe('pong: hi');
    },
  },
  {
    section: '4.4',
    words: '`get_schema` returns the schema as JSON: types, tables, reducers',
    prove: async (stage) => {
      const schema = JSON.parse(await stage.succeeds('get_schema', {}));
      expect(Array.isArray(schema.types)).toBe(true);
      const names = (items: readonly { name: string }[]) => items.map(({ name }) => name);
      expect(names(schema.tables)).toEqual(expect.arrayContaining(['person', 'secret']));
      expect(names(schema.reducers)).toContain('add_person');
    },
  },
  {
    section: '4.4',
    words: '`sql` runs SQL and returns rows as JSON',
    prove: async (stage) => {
      await stage.succeeds('call', { reducer: 'add_person', args: ['Mia'] });
      const [statement] = JSON.parse(
        await stage.succeeds('sql', { sql: "SELECT name FROM person WHERE name = 'Mia' LIMIT 1" }),
      );
      expect(statement).toEqual({
        columns: [{ name: 'name', type: 'String' }],
        rows: [['Mia']],
        offset: expect.any(Number),
      });
    },
  },
  {
    section: '4.4',
    words: 'with `confirmed` set, a read waits until it is durable',
    prove: async (stage) => {
      const { host } = stage.inn.running.service;
      const { handle } = host.database('inn');
      const sql = 'SELECT COUNT(*) AS n FROM visit';
      for (const confirmed of [true, undefined]) {
        await stage.succeeds('call', { reducer: 'count_visit' });
        const { offset } = handle.statistics();
        await stage.text('inn', 'sql', { sql, confirmed });
        expect(handle.statistics().durableOffset).toBeGreaterThanOrEqual(offset);
      }
      expect(await stage.rows(sql)).toHaveLength(1);
      await stage.succeeds('sql', { sql, confirmed: false });
    },
  },
  {
    section: '4.4',
    words: '`call` invokes a reducer with positional arguments in parameter order',
    prove: async (stage) => {
      const args = [7, -7, '0x1', [1, 2], { some: 'yes' }, 0.5];
      const text = await stage.succeeds('call', { reducer: 'add_wide', args });
      expect(text).toBe("reducer 'add_wide' committed");
      const [row] = await stage.rows(
        'SELECT huge, bytes, ratio FROM wide ORDER BY id DESC LIMIT 1',
      );
      expect(row).toEqual([-7, '0102', 0.5]);
    },
  },
  {
    section: '4.4',
    words: 'argument types are as documented',
    prove: async (stage) => {
      const types = [...(await stage.tools())].flatMap(([tool, { inputSchema }]) =>
        Object.entries(inputSchema.properties).map(([name, { type }]) => [`${tool}.${name}`, type]),
      );
      expect(Object.fromEntries(types)).toEqual({
        'ping.message': 'string',
        'get_schema.database': 'string',
        'sql.database': 'string',
        'sql.sql': 'string',
        'sql.confirmed': 'boolean',
        'call.database': 'string',
        'call.reducer': 'string',
        'call.args': 'array',
      });
    },
  },
];

const rules: readonly Statement[] = [
  {
    section: '4.4 rule 1',
    words: 'for a reducer without arguments, `args` is left out or an empty array',
    prove: async (stage) => {
      for (const args of [{}, { args: [] }]) {
        await stage.succeeds('call', { reducer: 'count_visit', ...args });
      }
    },
  },
  {
    section: '4.4 rule 2',
    words: 'host-wide, a data tool without a string `database` fails',
    prove: async (stage) => {
      for (const name of dataTools) {
        expect(await stage.error(undefined, name, { ...needed[name] })).toBe(databaseFault);
      }
    },
  },
  {
    section: '4.4 rule 3',
    words: 'in a database, `list_databases` fails',
    prove: async (stage) => {
      expect(await stage.error('inn', 'list_databases', {})).not.toBe('no error');
    },
  },
  {
    section: '4.4 rule 4',
    words: '`call` changes state through module logic, as a transaction',
    prove: async (stage) => {
      const count = "SELECT COUNT(*) AS n FROM visit WHERE what = 'never seen'";
      expect(await stage.fails('call', { reducer: 'refuse', args: ['full'] })).toBe(
        "reducer 'refuse' failed: full",
      );
      expect(await stage.rows(count)).toEqual([[0]]);
    },
  },
  {
    section: '4.4 rule 5',
    words: '`sql` reads public tables, writes for owners, and hides private tables',
    prove: async (stage) => {
      await stage.rows('SELECT * FROM person');
      const write = { sql: "UPDATE person SET name = 'Zed' WHERE name = 'nobody'" };
      expect(await stage.text('inn', 'sql', write)).toEqual({
        text: expect.stringMatching(
          /^Caller [0-9a-f]{64} is not authorized to run SQL DML statements$/,
        ),
        isError: true,
      });
      await stage.succeeds('sql', write, 'owner');
      expect(await stage.fails('sql', { sql: 'SELECT * FROM secret' })).toBe(
        'no such table: secret',
      );
    },
  },
  {
    section: '5.7',
    words: 'tools run with the identity that the command or the token gives, else as nobody',
    prove: async (stage) => {
      const secret = 'SELECT words FROM secret';
      expect(await stage.rows(secret, 'owner')).toEqual([['swordfish']]);
      await stage.fails('sql', { sql: secret }, 'nobody');
      await stage.succeeds('call', { reducer: 'add_person', args: ['Own'] }, 'owner');
      const guests = await stage.rows("SELECT guest FROM person WHERE name = 'Own'");
      for (const [guest] of guests) expect(guest).toBe(stage.inn.owner.identity);
    },
  },
];

const databaseFault = 'database argument must be a string';

/** The texts of section 7. */
const errors: readonly Statement[] = [
  {
    section: '7',
    words: 'failures of tools come in the body of the answer, as text',
    prove: async (stage) => {
      const text = await stage.fails('sql', { sql: 'SELEC' });
      expect(text.length).toBeGreaterThan(10);
    },
  },
  {
    section: '7',
    words: '`database argument must be a string`: it was left out, or is none, host-wide',
    prove: async (stage) => {
      for (const name of dataTools) {
        for (const database of [undefined, 7, null, ['inn'], { name: 'inn' }]) {
          const args = { ...needed[name], database };
          expect(await stage.error(undefined, name, args)).toBe(databaseFault);
        }
      }
    },
  },
  {
    section: '7',
    words: '`unknown tool: list_databases`: the server is for one database',
    prove: async (stage) => {
      expect(await stage.error('inn', 'list_databases', {})).toBe('unknown tool: list_databases');
    },
  },
  {
    section: '7',
    words: '`x` not found: no database of that name, or a name in place of an identity',
    prove: async (stage) => {
      for (const database of ['nobody', 'Not A Name', '0'.repeat(64), '']) {
        for (const name of dataTools) {
          const args = { database, ...needed[name] };
          expect(await stage.text(undefined, name, args)).toEqual({
            text: `\`${database}\` not found`,
            isError: true,
          });
        }
      }
    },
  },
  {
    section: '7',
    words: '`no such table: x`: private for the caller, absent, or of another database',
    prove: async (stage) => {
      const schema = JSON.parse(await stage.succeeds('get_schema', {}));
      const shown = schema.tables.map(({ name }: { name: string }) => name);
      expect(shown).toContain('secret');
      expect(shown).not.toContain('absent');
      for (const table of ['secret', 'absent']) {
        expect(await stage.fails('sql', { sql: `SELECT * FROM ${table}` })).toBe(
          `no such table: ${table}`,
        );
      }
      await stage.succeeds('sql', { sql: 'SELECT * FROM secret' }, 'owner');
    },
  },
];

export const statements: readonly Statement[] = [...modes, ...behaviour, ...rules, ...errors];
