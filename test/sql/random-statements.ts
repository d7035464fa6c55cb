import type { Random } from '../../src/testing/random.ts';

/**
 * Random statements of the whole grammar, without regard to names and types: what the parser must
 * take. Spellings vary: words that need no quotes as names, blanks, comments, parentheses.
 */
export class StatementMaker {
  readonly #random: Random;
  /** What is left before only the simplest form of everything is made. */
  #size = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  statement(): string {
    this.#size = this.#random.between(5, 60);
    const statement = this.#pick(
      () => this.#query(),
      () => this.#query(),
      () => this.#query(),
      () => this.#insert(),
      () => this.#update(),
      () => `DELETE FROM ${this.#relationName()}${this.#where()}${this.#returning()}`,
      () => `SET ${this.#some('SESSION ')}row_limit ${this.#any('=', 'TO')} ${this.#literal()}`,
      () => 'SHOW row_limit',
    );
    const explained = this.#some('EXPLAIN ', 'EXPLAIN ANALYZE ', 'EXPLAIN (ANALYZE) ');
    return this.#spaced(`${this.#random.chance(0.1) ? explained : ''}${statement}`);
  }

  #query(): string {
    const tables = this.#random.chance(0.15) ? this.#commonTables() : '';
    const tail = [
      this.#some(` ORDER BY ${this.#list(() => this.#orderItem())}`),
      this.#some(` LIMIT ${this.#any('ALL', '5', '$1', '2 + 3')}`),
      this.#some(` OFFSET ${this.#any('5', ':skip', '1 ROWS')}`),
      this.#random.chance(0.1) ? ` AS OF ${this.#any('7', '$1', "TIMESTAMP 'x'", '(a)')}` : '',
    ];
    return `${tables}${this.#body()}${tail.join('')}`;
  }

  #commonTables(): string {
    const one = () => `${this.#name()} ${this.#some(`(${this.#name()}) `)}AS (${this.#query()})`;
    return `WITH ${this.#list(one)} `;
  }

  #body(): string {
    if (this.#isSmall() || this.#random.chance(0.75)) return this.#select();
    const operator = this.#any('UNION', 'INTERSECT', 'EXCEPT');
    const side = () => (this.#random.chance(0.2) ? `(${this.#query()})` : this.#select());
    return `${side()} ${operator} ${this.#some('ALL ', 'DISTINCT ')}${side()}`;
  }

  #select(): string {
    const from = this.#random.chance(0.85) ? ` FROM ${this.#from()}` : '';
    const group = this.#some(` GROUP BY ${this.#list(() => this.#expression())}`);
    const having = this.#some(` HAVING ${this.#expression()}`);
    const quantifier = this.#some('DISTINCT ', 'ALL ');
    return `SELECT ${quantifier}${this.#items()}${from}${this.#where()}${group}${having}`;
  }

  #items(): string {
    return this.#list(() =>
      this.#pick(
        () => '*',
        () => `${this.#quotedName()}.*`,
        () => `${this.#expression()} AS ${this.#name()}`,
        () => this.#expression(),
        () => `(${this.#expression()})`,
      ),
    );
  }

  #from(): string {
    let from = this.#relation();
    while (!this.#isSmall() && this.#random.chance(0.35)) {
      const join = this.#any('JOIN', 'INNER JOIN', 'LEFT JOIN', 'LEFT OUTER JOIN', 'RIGHT JOIN');
      from += this.#pick(
        () => ` ${join} ${this.#relation()} ON ${this.#expression()}`,
        () => ` CROSS JOIN ${this.#relation()}`,
        () => `, ${this.#relation()}`,
        () => ` JOIN ${this.#relation()} USING (a)`,
      );
    }
    return from;
  }

  #relation(): string {
    const alias = this.#some(` AS ${this.#name()}`, ' x', ' "y z"');
    if (this.#isSmall() || this.#random.chance(0.8)) return `${this.#relationName()}${alias}`;
    return `(${this.#query()})${alias}`;
  }

  #insert(): string {
    const columns = this.#some(`(${this.#list(() => this.#name())}) `);
    const row = () => `(${this.#list(() => this.#literal())})`;
    const source = this.#random.chance(0.7) ? `VALUES ${this.#list(row)}` : this.#query();
    return `INSERT INTO ${this.#relationName()} ${columns}${source}${this.#returning()}`;
  }

  #update(): string {
    const assignment = () => `${this.#name()} = ${this.#expression()}`;
    const set = this.#list(assignment);
    return `UPDATE ${this.#relationName()} SET ${set}${this.#where()}${this.#returning()}`;
  }

  #where(): string {
    return this.#some(` WHERE ${this.#expression()}`);
  }

  #returning(): string {
    return this.#random.chance(0.2) ? ` RETURNING ${this.#items()}` : '';
  }

  #orderItem(): string {
    const direction = this.#some(' ASC', ' DESC');
    return `${this.#expression()}${direction}${this.#some(' NULLS FIRST', ' NULLS LAST')}`;
  }

  #expression(): string {
    if (this.#isSmall()) return this.#operand();
    const one = () => this.#expression();
    const not = this.#some('NOT ');
    return this.#pick(
      () => this.#operand(),
      () => `${one()} ${this.#any('AND', 'OR')} ${one()}`,
      () => `${this.#operand()} ${this.#any('=', '==', '<>', '!=', '<', '>=')} ${this.#operand()}`,
      () => `${this.#operand()} ${this.#any('+', '-', '*', '/', '%', '||')} ${this.#operand()}`,
      () => `(${one()})`,
      () => `NOT ${one()}`,
      () => `${this.#operand()} IS ${not}${this.#any('NULL', 'TRUE', 'FALSE', 'UNKNOWN')}`,
      () => `${this.#operand()} IS ${not}DISTINCT FROM ${this.#operand()}`,
      () => `${this.#operand()} ${not}IN (${this.#list(one)})`,
      () => `${this.#operand()} ${not}IN (${this.#query()})`,
      () => `${this.#operand()} ${not}BETWEEN ${this.#operand()} AND ${this.#operand()}`,
      () => `${this.#operand()} ${not}LIKE ${this.#operand()}${this.#some(" ESCAPE '!'")}`,
    );
  }

  #operand(): string {
    if (this.#isSmall()) return this.#random.chance(0.5) ? this.#literal() : this.#column();
    const one = () => this.#expression();
    return this.#pick(
      () => this.#literal(),
      () => this.#column(),
      () => this.#column(),
      () => `(${one()})`,
      () => `-${this.#column()}`,
      () => `CASE ${this.#some(this.#column())} WHEN ${one()} THEN ${one()} ELSE ${one()} END`,
      () => `CAST(${one()} AS ${this.#any('int', 'U32', 'double precision', 'text')})`,
      () => `${this.#column()}::${this.#any('I64', 'text', 'varchar(10)')}`,
      () => `${this.#any('f', 'lower', 'count', 'lib.g')}(${this.#list(one)})`,
      () => this.#any('count(*)', 'COUNT(DISTINCT a)', 'now()', 'current_timestamp', 'user'),
      () => this.#any('SUBSTRING(a FROM 1 FOR 2)', 'TRIM(BOTH x FROM a)', 'POSITION(a IN b)'),
      () => `EXISTS (${this.#query()})`,
      () => `(${this.#query()})`,
      () => `(${this.#column()}).${this.#name()}`,
    );
  }

  #literal(): string {
    return this.#any(
      '1',
      '-5',
      '1.5e3',
      '0xAB',
      "X'ab'",
      "'it''s'",
      'TRUE',
      'false',
      'NULL',
      '$1',
      ':name',
      "TIMESTAMP '2025-01-01T00:00:00Z'",
      "INTERVAL '1 day'",
    );
  }

  #column(): string {
    const [first, second] = [this.#quotedName(), this.#name()];
    return this.#random.chance(0.3) ? `${first}.${second}` : first;
  }

  #relationName(): string {
    return this.#any('t', 'users', '"lib"."t"', 'lib.t', 'order', '"user"', 'größe');
  }

  /** A name for a place where no word needs quotes. */
  #name(): string {
    return this.#any('a', 'b', 'x', 'id', '"the name"', 'case', 'user', 'end', 'of', 'größe');
  }

  /** A name for every place. */
  #quotedName(): string {
    return this.#any('a', 'b', 'x', 'id', '"case"', '"select"', 'name', 'größe', 'flag');
  }

  #list(make: () => string): string {
    let list = make();
    while (!this.#isSmall() && this.#random.chance(0.3)) list += `, ${make()}`;
    return list;
  }

  /** One of the texts, or nothing. */
  #some(...texts: readonly string[]): string {
    return this.#random.chance(0.35) ? this.#random.pick(texts) : '';
  }

  #any(...texts: readonly string[]): string {
    return this.#random.pick(texts);
  }

  #pick(...makers: readonly (() => string)[]): string {
    this.#size--;
    return this.#random.pick(makers)();
  }

  #isSmall(): boolean {
    this.#size--;
    return this.#size < 0;
  }

  #spaced(sql: string): string {
    if (this.#random.chance(0.8)) return sql;
    return sql.replaceAll(' ', () => this.#any(' ', '  ', '\n', '\t', ' /* c /* d */ */ '));
  }
}
