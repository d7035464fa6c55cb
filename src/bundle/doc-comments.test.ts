import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { buildModule } from './build-module.ts';
import { linkProgram } from './link.ts';
import { type EntityDocs, readDocs } from './program-docs.ts';

async function built(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(path.join(tmpdir(), 'doc-comments-'));
  try {
    writeFileSync(path.join(root, 'package.json'), '{}');
    mkdirSync(path.join(root, 'src'));
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(path.join(root, 'src', name), text);
    }
    return await buildModule(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const head = `import { schema, t, table } from 'reducerdb/server';\n`;
const start = `${head}const db = schema({});\nexport default db;\n`;

async function docsOf(files: Readonly<Record<string, string>>) {
  const { functions, tables } = readDocs((await built(files)).program);
  return { functions: plain(functions), tables: plain(tables) };
}

const functionsOf = async (text: string) => (await docsOf({ 'index.ts': start + text })).functions;

/** Where no part is described, the text alone. */
function plain(entities: ReadonlyMap<string, EntityDocs>) {
  const shown = [...entities].map(([name, { text, parts }]) => {
    return [name, parts.size === 0 ? text : { text, parts: Object.fromEntries(parts) }];
  });
  return Object.fromEntries(shown);
}

describe('doc comments of functions', () => {
  it('[mcp B20] are those directly before an exported declaration', async () => {
    const docs = await functionsOf(`
      /** Says hello. */
      export const hello = db.reducer(() => {});
      /**
       * Says good bye,
       * politely.
       */
      // biome-ignore lint: what a tool wants to know
      /* and what somebody thought */
      export const bye = db.reducer(() => {});
      /** About two things. */
      export const one = db.reducer(() => {}), two = db.reducer(() => {});
    `);
    expect(docs).toEqual({
      hello: 'Says hello.',
      bye: 'Says good bye,\npolitely.',
      one: 'About two things.',
    });
  });

  it('[mcp B20] are none of those that belong to something else', async () => {
    const docs = await functionsOf(`
      /** An interface. */
      interface Foo { a: string }
      export const afterInterface = db.reducer((_, {}: Foo & {}) => {});
      /* plain */
      export const afterPlain = db.reducer(() => {});
      /**/
      export const afterEmpty = db.reducer(() => {});
      // a line /** with a comment */
      export const afterLine = db.reducer(() => {});
      const text = "/** a text */"
      export const afterText = db.reducer(() => { console.log(text, pattern, lines); });
      const pattern = /[/**]a*/
      export const afterPattern = db.reducer(() => {});
      const lines = \`
/** in a template */
var hello = 1;
export {
  hello as afterPattern
};
\`;
      export const afterTemplate = db.reducer(() => { /** inside */ });
    `);
    expect(docs).toEqual({});
  });

  it('[mcp B20] are found wherever an export comes from', async () => {
    const docs = await docsOf({
      'index.ts': `
        import db from './db.ts';
        export default db;
        /** Of the index. */
        const inner = db.reducer(() => {});
        const bare = db.reducer(() => {});
        export { inner as outer, bare };
        export { local as "renamed" } from './other.ts';
        export * from './more.ts';
        import { plain } from './more.ts';
        /** Said again. */
        export const again = plain;
        export const same = plain;
      `,
      'db.ts': `${head}export default schema({});`,
      'other.ts': `
        import db from './db.ts';
        /** Of another file. */
        export const local = db.reducer(() => {});
        /** Not exported by the index. */
        export const inner = db.reducer(() => {});
      `,
      'more.ts': `
        import db from './db.ts';
        /** Of a star. */
        export const plain = db.reducer(() => {});
      `,
    });
    expect(docs.functions).toEqual({
      outer: 'Of the index.',
      renamed: 'Of another file.',
      plain: 'Of a star.',
      again: 'Said again.',
      same: 'Of a star.',
    });
  });

  it('[mcp B20] go by the name in the source, whatever an option says', async () => {
    const docs = await functionsOf(`
      /** Named. */
      export const inSource = db.reducer({ name: 'outside' }, () => {});
    `);
    expect(docs).toEqual({ inSource: 'Named.' });
  });

  it('[mcp B20] of a group are those of its members', async () => {
    const docs = await functionsOf(`
      /** First. */
      const first = db.reducer(() => {});
      const second = db.reducer(() => {});
      /** The group, which is no function. */
      export const group = db.exportGroup({
        first,
        /** Second, here. */
        other: second,
        inner: db.exportGroup({ /** Third. */ third: db.reducer(() => {}) }),
      });
    `);
    expect(docs).toEqual({ first: 'First.', other: 'Second, here.', third: 'Third.' });
  });

  it('[mcp B20] describe parameters, before them or by @param', async () => {
    const docs = await functionsOf(`
      const shared = { /** Which room. */ room: t.string(), count: t.u8() };
      /**
       * Sends. See {@link other}, {@link other | that} and {@linkcode third the third}.
       *
       * **Twice** if need be.
       *  * one
       *
       * @param args.text - what to {@link say}
       *   in this room
       * @param {number} count how often
       * @returns the number
       *   of the line
       * @example
       * send('x')
       */
      export const send = db.reducer(
        { returns: t.u8() },
        {
          /** Replaced by the tag. */
          text: t.string(),
          /** When, "quoted". */
          "quoted": t.string().default(\`}\${[\`,\`, 1]}\` + '}' + /[/'}]/.source),
          count: t.u8(),
          get later() { return t.array(t.u8()); },
          /** The last. */
          last: t.u8(),
        },
        () => 1,
      );
      export const quiet = db.reducer(shared, () => {});
    `);
    expect(docs).toEqual({
      send: {
        text:
          'Sends. See other, that and the third.\n\n**Twice** if need be.\n * one\n\n' +
          'Returns: the number\n  of the line',
        parts: {
          text: 'what to say\n  in this room',
          quoted: 'When, "quoted".',
          count: 'how often',
          last: 'The last.',
        },
      },
      quiet: { text: '', parts: { room: 'Which room.' } },
    });
  });
});

it('[mcp B20] leave the source map of a program to be found', async () => {
  const said = '//# sourceMappingURL=data:application/json,{} //# reducerdb-docs={}';
  const text = `${start}/** ${said} */\nexport const a = db.reducer(() => { throw new Error(); });`;
  const { program } = await built({ 'index.ts': text });
  expect(plain(readDocs(program).functions)).toEqual({ a: said });
  const { sourceMap } = await linkProgram(program);
  expect(JSON.parse(sourceMap).sources).toContain('src/index.ts');
});

describe('doc comments in odd sources', () => {
  const declared = '/** Said. */\nexport const said = db.reducer(() => {});\n';

  it.each([
    ['a mark of its byte order', '\ufeff', declared],
    ['lines that end as on Windows', '', declared.replaceAll('\n', '\r\n')],
    ['lines that end in a lone return', 'const a = 1;\r', declared],
    ['line separators', "const a = '\u2028\u2029';\u2028const b = `\u2028\n\u2029`;", declared],
    [
      'characters of two units',
      "const a = '\u{1f600}\u{1f600}'; const größe𝒳 = `\u{1f600}\n`;",
      declared,
    ],
    ['one long line', 'const text = "/**"; ', `${'text; '.repeat(9_999)}${declared}`],
    ['a hundred thousand lines', '\n'.repeat(100_000), declared],
    ['tabs and no blanks', '', '\t/**Said.*/export\tconst\tsaid=db.reducer(()=>{});'],
  ])('[mcp B20] are found in one with %s', async (_what, before, after) => {
    const text = `${before}${start};${after}\nexport const quiet = db.reducer(() => {});`;
    expect((await docsOf({ 'index.ts': text })).functions).toEqual({ said: 'Said.' });
  });

  it('[mcp B20] are found where the schema is exported from another file', async () => {
    const docs = await docsOf({
      'index.ts': "export { default } from './db.ts';\nexport * from './db.ts';",
      'db.ts': `${head}
        const tables = {
          /** Lines. */
          line: table({}, { id: t.u8() }),
        };
        const db = schema(tables);
        export { db as default };
        ${declared}`,
    });
    expect(docs).toEqual({ functions: { said: 'Said.' }, tables: { line: 'Lines.' } });
  });
});

describe('doc comments of tables', () => {
  const columns = '{ id: t.u64(), /** What they said. */ text: t.string() }';

  it('[mcp B20] stand before the table or its place in the schema', async () => {
    const docs = await docsOf({
      'index.ts': `
        import { t, table, schema } from 'reducerdb/server';
        import { lines, plain as plainTable } from './tables.ts';
        const db = schema({
          lines,
          /** Those who joined. */
          person: table({ public: true, scheduled: () => tick }, { /** Nick. */ nick: t.string() }),
          ours: plainTable,
          /** Again, elsewhere. */
          again: lines,
        });
        export default db;
        export const tick = db.reducer({ arg: plainTable.rowType }, () => {});
      `,
      'tables.ts': `${head}
        /** What was said. */
        export const lines = table({ name: 'line' }, ${columns});
        export const plain = table({}, { id: t.u8() });
      `,
    });
    expect(docs).toEqual({
      functions: {},
      tables: {
        lines: { text: 'What was said.', parts: { text: 'What they said.' } },
        person: { text: 'Those who joined.', parts: { nick: 'Nick.' } },
        again: { text: 'Again, elsewhere.', parts: { text: 'What they said.' } },
      },
    });
  });

  it('[mcp B20] are found for each way to export a schema', async () => {
    const table = `/** Lines. */ line: table({}, ${columns})`;
    for (const text of [
      `export default schema({ ${table} });`,
      `const db = schema({ ${table} }); export { db as default };`,
      `const db = schema({ ${table} }); const same = db; export default same;`,
    ]) {
      const { tables } = await docsOf({ 'index.ts': head + text });
      expect(tables).toEqual({ line: { text: 'Lines.', parts: { text: 'What they said.' } } });
    }
  });
});

describe('the line in a program', () => {
  it('[mcp B20] is absent where nothing is said, or too much', async () => {
    const plainText = async (text: string) => {
      const { program, warnings } = await built({ 'index.ts': start + text });
      return { text: new TextDecoder().decode(program), warnings };
    };
    const quiet = await plainText('export const a = db.reducer(() => {});');
    expect(quiet.text).not.toContain('reducerdb-docs');
    const many = Array.from({ length: 70 }, (_, at) => {
      return `/** ${'é'.repeat(2_100)} */ export const a${at} = db.reducer(() => {});\n`;
    });
    const loud = await plainText(many.join(''));
    expect(loud.text).not.toContain('reducerdb-docs');
    expect(loud.warnings).toEqual([
      'the doc comments of the module are left out of the program: together they are longer than ' +
        `${limits.programDocsBytesMax} bytes`,
    ]);
    const long = await functionsOf(many.slice(0, 1).join(''));
    expect(long).toEqual({ a0: `${'é'.repeat(limits.docTextCharactersMax - 1)}…` });
  });

  it('[mcp B20] says nothing when somebody else wrote something else there', () => {
    const read = (line: string) => readDocs(new TextEncoder().encode(`x;\n${line}`));
    const empty = { functions: new Map(), tables: new Map() };
    for (const line of [
      '//# reducerdb-docs=',
      '//# reducerdb-docs={',
      '//# reducerdb-docs=null\n',
      '//# reducerdb-docs=[1]\n',
      '//# reducerdb-docs={"functions":7,"tables":"x"}\n',
      `//# reducerdb-docs={"tables":{"${'x'.repeat(limits.programDocsBytesMax)}":{}}}\n`,
      '// reducerdb-docs={"functions":{"a":{"text":"b"}}}\n',
    ]) {
      const { functions, tables } = read(line);
      expect([...functions], line.slice(0, 80)).toEqual([...empty.functions]);
      expect([...tables].filter(([name]) => name.length > 1)).toEqual([]);
    }
    const partly = read(
      '//# reducerdb-docs={"functions":{"a":{"text":1,"parts":{"b":"c","d":{}}}}}',
    );
    expect(plain(partly.functions)).toEqual({ a: { text: '', parts: { b: 'c', d: '' } } });
    const long = read(`//# reducerdb-docs={"functions":{"a":{"text":"${'x'.repeat(9_000)}"}}}`);
    expect(long.functions.get('a')?.text).toBe(`${'x'.repeat(limits.docTextCharactersMax - 1)}…`);
  });

  it('[mcp B20] survives every character', async () => {
    const docs = await functionsOf(
      '/** \u2028 "quoted" \\ \u{1f600} </script> `$x */\nexport const a = db.reducer(() => {});',
    );
    expect(docs).toEqual({ a: '"quoted" \\ \u{1f600} </script> `$x' });
  });
});
