import { describe, expect, it } from 'vitest';
import {
  moduleOf,
  named,
  personModule,
  problemsOf,
  reducer,
  ref,
  text,
  u8,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { limits } from '../limits.ts';
import { optionType, product, sum, unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { DefinitionErrors } from './problems.ts';
import { validateModule } from './validate.ts';

describe('reports', () => {
  it('collect, sort and list each message once, each followed by an empty line', () => {
    const raw = moduleOf([{ name: 'st_b', columns: { a: u32 } }], {
      lifecycleReducers: [{ event: 'init', functionName: 'gone' }],
      rowLevelSecurity: [],
      types: [named('X', 99), named('x', 98)],
    });
    expect(() => validateModule(raw)).toThrow(
      new DefinitionErrors([
        'Table name is reserved for system use: st_b',
        'Type X has invalid ref: 98',
        'Type X has invalid ref: 99',
        'lifecycle event Init without reducer',
        'name `X` is used for multiple types',
      ]),
    );
    expect(new DefinitionErrors(['a', 'b']).message).toBe('Errors occurred:\na\n\nb\n\n');
  });
});

describe('[module-def 6.1] identifiers', () => {
  it.each([
    ['table', moduleOf([{ name: 'a-b', columns: { a: u32 } }], {}, () => 'A')],
    ['column', moduleOf([{ name: 'a', columns: { 'a-b': u32 } }])],
    ['reducer', moduleOf([], { reducers: [reducer('a-b')] })],
    ['HTTP handler', moduleOf([], { httpHandlers: ['a-b'] })],
    ['type', moduleOf([{ name: 't', columns: { a: u32 } }], {}, () => 'a-b')],
    ['submodule', moduleOf([], { submodules: [{ namespace: 'a-b', module: moduleOf([]) }] })],
    [
      'index accessor',
      moduleOf([
        { name: 't', columns: { a: u32 }, indexes: [{ columns: ['a'], accessor: 'a-b' }] },
      ]),
    ],
  ])('are checked in the source spelling of a %s', (_, raw) => {
    const [message, ...others] = problemsOf(raw);
    expect(message).toMatch(/^module contains invalid identifier: Identifier `a-b` contains/);
    expect(others).toEqual([]);
  });

  it('are checked in the canonical spelling', () => {
    const raw = moduleOf([{ name: '__', columns: { a: u32 } }], {}, () => 'Row');
    expect(problemsOf(raw)).toContain(
      'module contains invalid identifier: Empty identifiers are forbidden.',
    );
    const explicit = { kind: 'function', sourceName: 'a', canonicalName: '9' } as const;
    const renamed = moduleOf([], { reducers: [reducer('a')], explicitNames: [explicit] });
    expect(problemsOf(renamed).join()).toContain("Identifier `9`'s starting character '9'");
  });

  it('are checked for fields and variants of registered types, not for parameters', () => {
    const broken = sum(['b c', unitType], ['1', unitType]);
    const raw = moduleOf([], { typespace: { types: [broken] }, types: [named('T', 0)] });
    expect(problemsOf(raw).join()).toContain("Identifier `1`'s starting character");
    expect(problemsOf(moduleOf([], { reducers: [reducer('r', { 'a-b': u32 })] }))).toEqual([]);
  });
});

describe('[module-def 6.3] names', () => {
  it.each([
    [
      'two tables',
      moduleOf(
        [
          { name: 'a', columns: { x: u32 } },
          { name: 'A', columns: { x: u32 } },
        ],
        {},
        (name) => `Row${name.charCodeAt(0)}`,
      ),
      'name `a` is used for multiple entities',
    ],
    [
      'a table and an index',
      moduleOf([
        { name: 't', columns: { x: u32 }, indexes: [{ columns: ['x'] }] },
        { name: 't_x_idx_btree', columns: { x: u32 } },
      ]),
      'name `t_x_idx_btree` is used for multiple entities',
    ],
    [
      'two indexes over one column',
      moduleOf([
        {
          name: 't',
          columns: { x: u32 },
          indexes: [
            { columns: ['x'], sourceName: 'i' },
            { columns: ['x'], sourceName: 'j' },
          ],
        },
      ]),
      'name `t_x_idx_btree` is used for multiple entities',
    ],
    [
      'two columns',
      moduleOf([{ name: 't', columns: { fooBar: u32, foo_bar: u32 } }]),
      'name `foo_bar` is used for multiple entities',
    ],
    [
      'a table and a view',
      moduleOf([{ name: 't', columns: { x: u32 } }], { views: [view('T', arrayOf(ref(0)))] }),
      'name `t` is used for multiple entities',
    ],
    [
      'two types',
      moduleOf([], {
        typespace: { types: [unitType, unitType] },
        types: [named('my_type', 0), named('MyType', 1)],
      }),
      'name `MyType` is used for multiple types',
    ],
    [
      'a reducer and a procedure',
      moduleOf([], { reducers: [reducer('doIt')], procedures: [procedure('do_it')] }),
      'Name do_it is used for multiple reducers, procedures and/or views',
    ],
    [
      'two HTTP handlers',
      moduleOf([], { httpHandlers: ['a', 'a'] }),
      'HTTP handler name a is used for multiple HTTP handlers',
    ],
    [
      'two submodules',
      moduleOf([], {
        submodules: [
          { namespace: 'n', module: moduleOf([]) },
          { namespace: 'n', module: moduleOf([]) },
        ],
      }),
      'name `n` is used for multiple entities',
    ],
  ])('are refused when %s share one', (_, raw, message) => {
    expect(problemsOf(raw)).toEqual([message]);
  });

  it('of handlers, functions and tables are apart from each other', () => {
    const raw = moduleOf([{ name: 'a', columns: { a: u32 } }], {
      reducers: [reducer('a')],
      httpHandlers: ['a'],
    });
    expect(problemsOf(raw)).toEqual([]);
  });
});

describe('types', () => {
  const payload = product(['x', u32]);

  it.each([['scope and name of a type in range', named('T', 7), 'Type T has invalid ref: 7']])(
    'need %s',
    (_, type, message) => {
      expect(problemsOf(moduleOf([], { types: [type] }))).toEqual([message]);
    },
  );

  it('without custom ordering have their members sorted', () => {
    const unsorted = { typespace: { types: [product(['b', u8], ['a', u8])] } };
    expect(problemsOf(moduleOf([], { ...unsorted, types: [named('T', 0, false)] }))).toEqual([
      'type `T` is not annotated with a custom ordering, but uses one: [b, a]',
    ]);
    expect(problemsOf(moduleOf([], { ...unsorted, types: [named('T', 0)] }))).toEqual([]);
    const sorted = { typespace: { types: [product(['a', u8], ['b', u8])] } };
    expect(problemsOf(moduleOf([], { ...sorted, types: [named('T', 0, false)] }))).toEqual([]);
  });

  it('[module-def 6.4] need a name to be used when they are products or sums of the module', () => {
    const raw = moduleOf([], { reducers: [reducer('r', { a: payload })] });
    expect(problemsOf(raw)).toEqual([
      'error at reducer `r` argument 0 (`a`): internal codegen error: ' +
        'non-special product or sum type (x: U32) cannot be used to generate a client type use',
    ]);
    const inside = moduleOf([], { reducers: [reducer('r', { a: arrayOf(optionType(payload)) })] });
    expect(problemsOf(inside)).toHaveLength(1);
    const asRef = moduleOf([], {
      typespace: { types: [payload] },
      types: [named('P', 0)],
      reducers: [reducer('r', { a: arrayOf(optionType(ref(0))), b: unitType })],
    });
    expect(problemsOf(asRef)).toEqual([]);
  });

  it('that are not registered are judged where a ref uses them', () => {
    const raw = moduleOf([], {
      typespace: { types: [payload, optionType(u8)] },
      procedures: [procedure('p', ref(0)), procedure('q', ref(1))],
    });
    expect(problemsOf(raw)).toEqual([
      'error at procedure `p` return value: internal codegen error: ' +
        'non-special product or sum type (x: U32) cannot be used to generate a client type use',
    ]);
  });

  it('[module-def 6.4] name their fields and parameters', () => {
    const codegen = 'internal codegen error:';
    const nameless: AlgebraicType = { kind: 'product', elements: [{ name: undefined, type: u8 }] };
    const raw = moduleOf([], {
      typespace: { types: [nameless] },
      types: [named('T', 0)],
      reducers: [{ ...reducer('r'), params: nameless }],
    });
    expect(problemsOf(raw)).toEqual([
      `error at reducer \`r\` argument 0: ${codegen} all reducer parameters require names`,
      `error at typespace ref \`&0\`: ${codegen} all elements of types require names`,
    ]);
  });

  it('[module-def 6.4] recur through a registered type only', () => {
    const tree = product(['children', arrayOf(ref(0))]);
    const typespace = { types: [tree] };
    expect(problemsOf(moduleOf([], { typespace, types: [named('Tree', 0)] }))).toEqual([]);
    const loop = moduleOf([], {
      typespace: { types: [optionType(arrayOf(ref(0)))] },
      reducers: [reducer('r', { a: ref(0) })],
    });
    expect(problemsOf(loop).join()).toContain('type reference &0 is recursive and has no name');
  });

  it('[module-def 6.4] do not contain themselves without a sum or array between', () => {
    const types = [product(['next', ref(1)]), product(['next', ref(0)])];
    const raw = moduleOf([], { typespace: { types }, types: [named('A', 0), named('B', 1)] });
    const text = 'internal codegen error: a product contains itself without a sum or array between';
    expect(problemsOf(raw)).toEqual([
      `error at typespace ref \`&0\`: ${text}`,
      `error at typespace ref \`&1\`: ${text}`,
    ]);
  });

  it('[module-def 6.4] exist where a ref says so', () => {
    const raw = moduleOf([{ name: 't', columns: { a: ref(9) } }]);
    expect(problemsOf(raw).join()).toContain('type reference &9 is out of range');
  });

  it('[module-def 6.4] are bounded in size and depth with their refs written out', () => {
    const doubling = Array.from({ length: 40 }, (_, index) => {
      return product(['a', arrayOf(ref(index + 1))], ['b', arrayOf(ref(index + 1))]);
    });
    const wide = moduleOf([], {
      typespace: { types: [...doubling.slice(0, 20), unitType] },
      types: Array.from({ length: 21 }, (_, index) => named(`T${index}`, index)),
    });
    expect(problemsOf(wide).join()).toContain(`more than ${limits.typePartsMax} parts`);
    const deep = moduleOf([], {
      typespace: { types: [...doubling, unitType] },
      types: Array.from({ length: 41 }, (_, index) => named(`T${index}`, index)),
    });
    expect(problemsOf(deep).join()).toContain('nested deeper than 128');
  });

  it('in a chain of a hundred thousand refs cost little and do not overflow the stack', () => {
    const count = 100_000;
    const types = Array.from({ length: count }, (_, index) => ref(index + 1));
    const options = Array.from({ length: count }, (_, index) => optionType(ref(index + 1)));
    for (const list of [types, options]) {
      const raw = moduleOf([], {
        typespace: { types: [...list, unitType] },
        types: [named('T', 0)],
        reducers: [reducer('r', { a: ref(0) })],
      });
      expect(problemsOf(raw).join()).toContain('nested deeper than');
    }
  });
});

describe('row-level security', () => {
  it('[module-sdk 6.6] has a bound', () => {
    const rules = (count: number) => Array.from({ length: count }, (_, at) => `SELECT ${at}`);
    const max = limits.rowFilterCountMax;
    const raw = { ...personModule, rowLevelSecurity: rules(max) };
    expect(validateModule(raw).rowLevelSecurity).toHaveLength(max);
    expect(problemsOf({ ...raw, rowLevelSecurity: rules(max + 1) })).toEqual([
      `the module has ${max + 1} RLS rules, more than ${max}`,
    ]);
  });
});

describe('views', () => {
  const row = { name: 'player', columns: { playerId: u32, name: text }, primaryKey: 'playerId' };

  it.each([
    ['an option', optionType(ref(0)), undefined],
    ['an array', arrayOf(ref(0)), undefined],
    ['a query', product(['__query__', ref(0)]), 'player_id'],
  ])('return %s of a registered row', (_, returnType, primaryKey) => {
    const definition = validateModule(moduleOf([row], { views: [view('mine', returnType)] }));
    expect(definition.views).toMatchObject([{ name: 'mine', primaryKey }]);
  });

  it.each([
    ['a bare row', ref(0), 'View v has invalid return type &0'],
    ['scalars', arrayOf(u32), 'View v has invalid return type Array<U32>'],
    ['an enum', arrayOf(ref(1)), 'View v has invalid return type Array<&1>'],
    ['a dangling row', arrayOf(ref(8)), 'View v has invalid return type Array<&8>'],
  ])('do not return %s', (_, returnType, message) => {
    const raw = moduleOf([row], {
      typespace: { types: [sum(['A', unitType])] },
      types: [named('E', 1)],
      views: [view('v', returnType)],
    });
    expect(problemsOf(raw)).toEqual([message]);
  });

  it('show the columns of their rows under both names', () => {
    const [mine] = validateModule(
      moduleOf([row], { views: [view('mine', arrayOf(ref(0)))] }),
    ).views;
    expect(mine?.columns).toEqual([
      { name: 'player_id', sourceName: 'playerId', type: u32 },
      { name: 'name', sourceName: 'name', type: text },
    ]);
  });

  it.each([
    [
      'a name of the system',
      moduleOf([row], { views: [view('st_mine', arrayOf(ref(0)))] }),
      'Table name is reserved for system use: st_mine',
    ],
    [
      'the spelling of a table',
      moduleOf([{ ...row, name: 'aB' }], {
        views: [view('aB', arrayOf(ref(0)))],
        explicitNames: [{ kind: 'function', sourceName: 'aB', canonicalName: 'v' }],
      }),
      'name `aB` is used for multiple entities',
    ],
    [
      'two columns of one name',
      moduleOf([row], {
        typespace: { types: [product(['aB', u32], ['a_b', u32])] },
        types: [named('Two', 1)],
        views: [view('v', arrayOf(ref(1)))],
      }),
      'name `a_b` is used for multiple entities',
    ],
    [
      'columns of a type that clients have no name for',
      moduleOf([row], {
        typespace: { types: [product(['a', product(['x', u32], ['y', u32])])] },
        views: [view('v', arrayOf(ref(1)))],
      }),
      'error at view `v` column `a`: internal codegen error: non-special product or sum type ' +
        '(x: U32, y: U32) cannot be used to generate a client type use',
    ],
  ])('do not have %s', (_, raw, message) => {
    expect(problemsOf(raw)).toContain(message);
  });

  it('take their key from the declaration, by source name', () => {
    const raw = moduleOf([row], {
      views: [view('myView', arrayOf(ref(0)))],
      viewPrimaryKeys: [
        { viewName: 'other', columns: [] },
        { viewName: 'myView', columns: ['playerId'] },
      ],
    });
    expect(validateModule(raw).views).toMatchObject([{ primaryKey: 'player_id' }]);
  });

  it.each([
    [[['x', ['name']]], 'View x referenced by primary key definition not found'],
    [[['v', ['y']]], 'Primary key column y for view v not found'],
    [
      [
        ['v', ['name']],
        ['v', ['name']],
      ],
      'View v has multiple primary key definitions',
    ],
    [[['v', ['name', 'playerId']]], 'View v has multiple primary key columns: [name, playerId]'],
  ] as [[string, string[]][], string][])('refuse the keys %j', (keys, message) => {
    const raw = moduleOf([row], {
      views: [view('v', arrayOf(ref(0)))],
      viewPrimaryKeys: keys.map(([viewName, columns]) => ({ viewName, columns })),
    });
    expect(problemsOf(raw)).toEqual([message]);
  });

  it('inherit no key when the tables of their row type disagree', () => {
    const raw = moduleOf([row], { views: [view('v', product(['__query__', ref(0)]))] });
    const [table] = raw.tables;
    const second = { ...table, sourceName: 'other', primaryKey: [], indexes: [], constraints: [] };
    const both = { ...raw, tables: [...raw.tables, second as (typeof raw.tables)[number]] };
    expect(validateModule(both).views).toMatchObject([{ primaryKey: undefined }]);
  });
});

describe('HTTP', () => {
  it.each(['', '/', '/a-b_c~9/d'])('accepts the path %j', (path) => {
    const raw = moduleOf([], { httpHandlers: ['h'], httpRoutes: [route(path, 'GET')] });
    expect(problemsOf(raw)).toEqual([]);
  });

  it.each(['a', '/A', '/a b', '/ä', '/{id}'])('refuses the path %j', (path) => {
    const raw = moduleOf([], { httpHandlers: ['h'], httpRoutes: [route(path, 'GET')] });
    expect(problemsOf(raw)).toEqual([
      `HTTP route path \`${path}\` is invalid; ` +
        'allowed characters are ASCII lowercase letters, digits and `-_~/`',
    ]);
  });

  it.each(['/:id', '/a/:b_2/c', '/*', '/a/:b/*'])('[living 3.1] accepts the path %j', (path) => {
    const raw = moduleOf([], { httpHandlers: ['h'], httpRoutes: [route(path, 'GET')] });
    expect(problemsOf(raw)).toEqual([]);
  });

  it.each([
    ['/:', '`:` is neither literal, nor `:name` (`[a-z][a-z0-9_]*`), nor `*`'],
    ['/:Id', '`:Id` is neither literal, nor `:name` (`[a-z][a-z0-9_]*`), nor `*`'],
    ['/a:b', '`a:b` is neither literal, nor `:name` (`[a-z][a-z0-9_]*`), nor `*`'],
    ['/*a', '`*a` is neither literal, nor `:name` (`[a-z][a-z0-9_]*`), nor `*`'],
    [
      '/__proto__/:x/:__proto__',
      '`:__proto__` is neither literal, nor `:name` (`[a-z][a-z0-9_]*`), nor `*`',
    ],
    ['/*/b', '`*` is not its last segment'],
    ['/:a/:a', 'the parameter `a` occurs twice'],
    [':a', 'it does not start with `/`'],
    [`/${'x'.repeat(1_024)}`, 'it is longer than 1024 characters'],
  ])('[living 3.1] refuses the path %j', (path, fault) => {
    const raw = moduleOf([], { httpHandlers: ['h'], httpRoutes: [route(path, 'GET')] });
    expect(problemsOf(raw)).toEqual([`HTTP route path \`${path}\` is invalid; ${fault}`]);
  });

  it('[living 3.1] does not look at the names of parameters', () => {
    const httpRoutes = [route('/:a', 'GET'), route('/:b', 'POST'), route('/:c', 'GET')];
    expect(problemsOf(moduleOf([], { httpHandlers: ['h'], httpRoutes }))).toEqual([
      'HTTP route duplicates method GET for path /:c',
    ]);
  });

  it('[living 3.1] refuses more routes than the gateway looks through', () => {
    const httpRoutes = Array.from({ length: 1_025 }, (_, at) => route(`/${at}`, 'GET'));
    expect(problemsOf(moduleOf([], { httpHandlers: ['h'], httpRoutes }))).toEqual([
      'the module has 1025 HTTP routes, more than 1024',
    ]);
  });

  it('[living 3.2] knows which handlers look at tokens', () => {
    const auth = (handler: string) => ({ handler, auth: 'required' as const });
    const raw = moduleOf([], { httpHandlers: ['h', 'g'], handlerAuth: [auth('h')] });
    expect(validateModule(raw).httpHandlers).toEqual([
      { name: 'h', sourceName: 'h', auth: 'required' },
      { name: 'g', sourceName: 'g', auth: 'none' },
    ]);
    const bad = moduleOf([], {
      httpHandlers: ['h'],
      handlerAuth: [auth('h'), auth('h'), auth('x')],
    });
    expect(problemsOf(bad)).toEqual([
      'authentication is declared for the unknown HTTP handler `x`',
      'authentication of HTTP handler `h` is declared more than once',
    ]);
  });

  it('refuses two routes with one path and overlapping methods', () => {
    const raw = moduleOf([], {
      httpHandlers: ['h'],
      httpRoutes: [route('/a', 'GET'), route('/a', 'POST'), route('/a', 'GET'), route('/a')],
    });
    expect(problemsOf(raw)).toEqual([
      'HTTP route duplicates method Any for path /a',
      'HTTP route duplicates method GET for path /a',
    ]);
  });

  it('refuses a route without its handler', () => {
    const raw = moduleOf([], { httpRoutes: [route('/a')] });
    expect(problemsOf(raw)).toEqual(['HTTP route refers to unknown HTTP handler `h`']);
  });

  function route(path: string, method?: string) {
    return { handler: 'h', method, path };
  }
});

describe('submodules', () => {
  it('have a namespace of at most 63 bytes', () => {
    const within = (namespace: string) => {
      return moduleOf([], { submodules: [{ namespace, module: moduleOf([]) }] });
    };
    expect(problemsOf(within('n'.repeat(63)))).toEqual([]);
    expect(problemsOf(within('é'.repeat(32)))).toEqual([
      `submodule namespace \`${'é'.repeat(32)}\` is 64 bytes, which exceeds the 63-byte limit`,
    ]);
  });

  it('have no lifecycle reducers', () => {
    const module = moduleOf([], {
      reducers: [reducer('a')],
      lifecycleReducers: [{ event: 'onDisconnect', functionName: 'a' }],
    });
    const raw = moduleOf([], { submodules: [{ namespace: 'n', module }] });
    expect(problemsOf(raw)).toEqual([
      'lifecycle event OnDisconnect is not permitted in submodule under namespace `n`; ' +
        'lifecycle reducers may only be declared in the root module',
    ]);
  });

  it('[module-def 9] are checked each on its own, with names of its own', () => {
    const broken = moduleOf([{ name: 'st_x', columns: { a: u32 } }]);
    const raw = { ...personModule, submodules: [{ namespace: 'n', module: personModule }] };
    expect(problemsOf(raw)).toEqual([]);
    expect(problemsOf({ ...raw, submodules: [{ namespace: 'n', module: broken }] })).toEqual([
      'Table name is reserved for system use: st_x',
    ]);
  });
});

describe('canonical names', () => {
  const colour = sum(['darkRed', unitType], ['light_blue', u32]);
  const raw = moduleOf([{ name: 'myTable', columns: { fullName: text, colour: ref(1) } }], {
    typespace: { types: [colour, product(['innerPart', optionType(u64)])] },
    types: [named('my_colour', 1), { ...named('part', 2), scope: ['my_scope'] }],
    reducers: [reducer('doThing', { someArg: u32 })],
  });

  it('are snake, camel and Pascal case under the default policy', () => {
    const definition = validateModule(raw);
    expect(definition.tables).toMatchObject([
      {
        name: 'my_table',
        sourceName: 'myTable',
        columns: [{ name: 'full_name', sourceName: 'fullName' }, { name: 'colour' }],
      },
    ]);
    expect(definition.typespace.types.slice(1)).toEqual([
      sum(['darkRed', unitType], ['lightBlue', u32]),
      product(['inner_part', optionType(u64)]),
    ]);
    expect(definition.types).toMatchObject([
      { name: 'MyTableRow', sourceName: 'myTableRow' },
      { name: 'MyColour', sourceName: 'my_colour' },
      { name: 'Part', scope: ['MyScope'], sourceScope: ['my_scope'] },
    ]);
    expect(definition.reducers).toMatchObject([
      { name: 'do_thing', sourceName: 'doThing', params: product(['someArg', u32]) },
    ]);
  });

  it('are the spelling of the module without a policy', () => {
    const definition = validateModule({ ...raw, caseConversion: 'none' });
    expect(definition.tables[0]?.name).toBe('myTable');
    expect(definition.typespace.types[1]).toEqual(colour);
    expect(definition.types.map(({ name }) => name)).toEqual(['myTableRow', 'my_colour', 'part']);
  });

  it('are what the module says explicitly, the last entry for a name', () => {
    const explicitNames = [
      { kind: 'table', sourceName: 'myTable', canonicalName: 'First' },
      { kind: 'table', sourceName: 'myTable', canonicalName: 'MyTable' },
      { kind: 'function', sourceName: 'doThing', canonicalName: 'Do' },
    ] as const;
    const definition = validateModule({ ...raw, explicitNames });
    expect(definition.tables[0]).toMatchObject({ name: 'MyTable', sourceName: 'myTable' });
    expect(definition.reducers[0]).toMatchObject({ name: 'Do', sourceName: 'doThing' });
  });
});

function arrayOf(element: AlgebraicType): AlgebraicType {
  return { kind: 'array', element };
}

function view(sourceName: string, returnType: AlgebraicType) {
  const params = product();
  return { sourceName, index: 0, isPublic: true, isAnonymous: false, params, returnType };
}

function procedure(sourceName: string, returnType: AlgebraicType = unitType) {
  return { sourceName, params: product(), returnType, visibility: 'clientCallable' as const };
}
