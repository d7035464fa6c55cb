import type { Random } from '../../src/testing/random.ts';

interface Relation {
  readonly name: string;
  readonly columns: readonly string[];
}

const relations: readonly Relation[] = [
  { name: 't', columns: ['id', 'a', 'x', 'name', 'flag', 'u8', 'f32'] },
  { name: 's', columns: ['id', 'x'] },
  { name: 'opaque', columns: ['id', 'opt', 'color', 'point', 'duration', 'opt.some', 'point.x'] },
  { name: 'every_type', columns: ['bool', 'u8', 'i64', 'u256', 'f64', 'string', 'bytes', 'ts'] },
  { name: 'secret', columns: ['id', 'text'] },
  { name: 'st_var', columns: ['name', 'value'] },
];

const functions = [
  'upper',
  'length',
  'coalesce',
  'nullif',
  'abs',
  'round',
  'substring',
  'greatest',
];
const typeNames = ['U8', 'I64', 'String', 'double precision', 'Bool', 'Timestamp', 'interval'];

/**
 * Random statements about the sample tables, in which most names exist and many types fit: what
 * gets past the parser and deep into the check.
 */
export class SensibleStatements {
  readonly #random: Random;
  #size = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): string {
    this.#size = this.#random.between(2, 14);
    return this.#pick(
      () => this.#query(undefined),
      () => this.#query(undefined),
      () => this.#query(undefined),
      () => this.#insert(),
      () => this.#write(),
    );
  }

  #query(outer: string | undefined, width?: number): string {
    const body = this.#body(outer, width);
    const order = this.#chance(0.3) ? ` ORDER BY ${this.#any('1', '2 DESC', 'a', 'id', 'n')}` : '';
    const limit = this.#chance(0.2) ? ` LIMIT ${this.#any('3', '$1', '1 + 2')}` : '';
    if (outer !== undefined || !this.#chance(0.2)) return `${body}${order}${limit}`;
    return `WITH q AS (${this.#body(undefined, 2)}) ${body}${order}${limit}`;
  }

  #body(outer: string | undefined, width?: number): string {
    if (this.#isSmall() || this.#chance(0.8)) return this.#select(outer, width);
    const count = width ?? this.#random.between(1, 3);
    const operator = this.#any('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT');
    return `${this.#select(outer, count)} ${operator} ${this.#select(outer, count)}`;
  }

  #select(outer: string | undefined, width = this.#random.between(1, 4)): string {
    const isJoin = !this.#isSmall() && this.#chance(0.35);
    const first = this.#random.pick(relations);
    const second = this.#random.pick(relations);
    const [left, right] = [`r${this.#random.between(0, 9)}`, `l${this.#random.between(0, 9)}`];
    const from = `${this.#relation(first)} AS ${left}`;
    const columns = [...qualified(first, left), ...(isJoin ? qualified(second, right) : [])];
    if (outer !== undefined) columns.push(outer);
    const join = `${this.#any('JOIN', 'LEFT JOIN')} ${second.name} AS ${right}`;
    const on = isJoin ? ` ${join} ON ${this.#condition(columns)}` : '';
    const where = this.#chance(0.4) ? ` WHERE ${this.#condition(columns)}` : '';
    const isGrouped = this.#chance(0.3);
    const keys = isGrouped ? [this.#value(columns), this.#random.pick(columns)] : [];
    const items = Array.from({ length: width }, (_, at) => {
      const item = isGrouped ? this.#groupedItem(keys, columns) : this.#value(columns);
      return `${item}${this.#chance(0.7) ? ` AS ${this.#any('a', 'id', 'n')}${at}` : ''}`;
    });
    const groupBy = isGrouped ? ` GROUP BY ${keys.join(', ')}` : '';
    const having = isGrouped && this.#chance(0.3) ? ` HAVING COUNT(*) > ${keys[0]}` : '';
    const list = this.#chance(0.1) ? `${left}.*` : items.join(', ');
    const distinct = this.#chance(0.1) ? 'DISTINCT ' : '';
    return `SELECT ${distinct}${list} FROM ${from}${on}${where}${groupBy}${having}`;
  }

  #relation({ name }: Relation): string {
    if (this.#isSmall() || this.#chance(0.85)) return this.#chance(0.05) ? 'q' : name;
    return `(SELECT * FROM ${name})`;
  }

  #groupedItem(keys: readonly string[], columns: readonly string[]): string {
    return this.#pick(
      () => this.#random.pick(keys),
      () => `${this.#any('COUNT', 'SUM', 'MIN', 'MAX', 'AVG')}(${this.#value(columns)})`,
      () => `COUNT(DISTINCT ${this.#random.pick(columns)}) + 1`,
      () => 'COUNT(*)',
    );
  }

  #condition(columns: readonly string[]): string {
    if (this.#isSmall()) return `${this.#random.pick(columns)} IS NOT NULL`;
    const value = () => this.#value(columns);
    const column = this.#random.pick(columns);
    return this.#pick(
      () => `${value()} ${this.#any('=', '<>', '<', '>=')} ${value()}`,
      () => `${column} = ${column}`,
      () => `${column} ${this.#any('IN', 'NOT IN')} (${value()}, ${this.#literal()})`,
      () => `${column} IN (${this.#select(column, 1)})`,
      () => `EXISTS (${this.#select(column)})`,
      () => `${value()} BETWEEN ${value()} AND ${value()}`,
      () => `${column} IS NOT DISTINCT FROM ${value()}`,
      () => `${column} IS ${this.#any('NULL', 'TRUE', 'NOT FALSE')}`,
      () => `(${this.#condition(columns)}) ${this.#any('AND', 'OR')} (${this.#condition(columns)})`,
      () => `NOT (${this.#condition(columns)})`,
      () => `${value()} LIKE 'a%'`,
    );
  }

  #value(columns: readonly string[]): string {
    if (this.#isSmall() || this.#chance(0.45)) return this.#random.pick(columns);
    const value = () => this.#value(columns);
    return this.#pick(
      () => this.#literal(),
      () => `(${value()} ${this.#any('+', '-', '*', '/', '%', '||')} ${value()})`,
      () => `${this.#random.pick(functions)}(${value()}${this.#chance(0.5) ? `, ${value()}` : ''})`,
      () => `CAST(${value()} AS ${this.#random.pick(typeNames)})`,
      () => `CASE WHEN ${this.#condition(columns)} THEN ${value()} ELSE ${value()} END`,
      () => `CASE ${value()} WHEN ${value()} THEN ${value()} END`,
      () => `(${this.#select(this.#random.pick(columns), 1)})`,
      () => `-${value()}`,
    );
  }

  #literal(): string {
    return this.#any('1', '300', '-1', '1.5', "'x'", '0xab', 'TRUE', 'NULL', '$1', ':sender');
  }

  #insert(): string {
    const [table, columns] = this.#random.pick([
      ['s', ['id', 'x']],
      ['one', ['a']],
      ['numbered', ['text', 'id']],
    ] as const);
    const width = columns.length;
    const row = () => `(${Array.from({ length: width }, () => this.#literal()).join(', ')})`;
    const source = this.#chance(0.5) ? `VALUES ${row()}, ${row()}` : this.#query(undefined, width);
    const returning = this.#chance(0.3) ? ` RETURNING *, ${columns[0]}`.slice(0, 12) : '';
    return `INSERT INTO ${table} (${columns.join(', ')}) ${source}${returning}`;
  }

  #write(): string {
    const { name, columns } = this.#random.pick(relations);
    const where = this.#chance(0.7) ? ` WHERE ${this.#condition(columns)}` : '';
    const returning = this.#chance(0.3) ? ` RETURNING ${this.#value(columns)}` : '';
    if (this.#chance(0.3)) return `DELETE FROM ${name}${where}${returning}`;
    const plain = columns.filter((column) => !column.includes('.'));
    const assignment = () => `${this.#random.pick(plain)} = ${this.#value(plain)}`;
    return `UPDATE ${name} SET ${assignment()}, ${assignment()}${where}${returning}`;
  }

  #isSmall(): boolean {
    return --this.#size < 0;
  }

  #chance(probability: number): boolean {
    return this.#random.chance(probability);
  }

  #any(...texts: readonly string[]): string {
    return this.#random.pick(texts);
  }

  #pick(...makers: readonly (() => string)[]): string {
    return this.#random.pick(makers)();
  }
}

function qualified({ columns }: Relation, alias: string): string[] {
  return columns.map((column) => `${alias}.${column}`);
}
