import type { AgentSession } from './agent-session.ts';

/** Something that a person asks an agent for, and the shortest honest way to do it. */
export interface Task {
  readonly id: string;
  readonly title: string;
  readonly database: 'orders' | 'chat';
  /** Of the MCP server. */
  readonly features?: string;
  /** Gives what the agent would tell the person. */
  readonly run: (agent: AgentSession) => Promise<unknown>;
  readonly tells: unknown;
}

/** The first number of the first row. */
async function numberIn(agent: AgentSession, sql: string): Promise<unknown> {
  return (await agent.rows(sql))[0]?.[0];
}

/** A text without the lines that the feature `fence` puts around what a module or its users said. */
function unfenced(text: string): string {
  return text.replaceAll(/«data \w+»\n|\n«\/data \w+»/g, '');
}

/** The reads: one conversation, which begins with a look at the schema. */
export const reads: readonly Task[] = [
  {
    id: 'R1',
    title: 'What is in this database?',
    database: 'orders',
    run: async (agent) => {
      const { texts } = await agent.call('get_schema');
      const { tables } = JSON.parse(texts[0] ?? '');
      return tables.map(({ name, rows }: { name: string; rows: number }) => [name, rows]);
    },
    tells: [
      ['customer', 30],
      ['line', 119],
      ['product', 10],
      ['purchase', 120],
    ],
  },
  {
    id: 'R2',
    title: 'How many orders are there by status?',
    database: 'orders',
    run: (agent) =>
      agent.rows('SELECT status, COUNT(*) AS n FROM purchase GROUP BY status ORDER BY status'),
    tells: [
      ['pending', 40],
      ['paid', 40],
      ['shipped', 40],
    ],
  },
  {
    id: 'R3',
    title: 'Which three products sold best?',
    database: 'orders',
    run: (agent) =>
      agent.rows(
        'SELECT sku, SUM(quantity) AS sold FROM line GROUP BY sku ORDER BY sold DESC, sku LIMIT 3',
      ),
    tells: [
      ['P10', 36],
      ['P2', 36],
      ['P4', 36],
    ],
  },
  {
    id: 'R4',
    title: 'Who are the customers without an order?',
    database: 'orders',
    run: (agent) =>
      agent.rows(
        'SELECT name, email FROM customer AS c WHERE NOT EXISTS ' +
          '(SELECT 1 FROM purchase AS p WHERE p.customer_id = c.id)',
      ),
    tells: [['Customer 30', 'c30@example.com']],
  },
  {
    id: 'R5',
    title: 'Which stock cannot be right?',
    database: 'orders',
    run: (agent) => agent.rows('SELECT sku, stock FROM product WHERE stock < 0'),
    tells: [['P4', -3]],
  },
  {
    id: 'R6',
    title: 'Which lines are of products that do not exist?',
    database: 'orders',
    run: (agent) =>
      agent.rows(
        'SELECT l.purchase_id, l.sku FROM line AS l LEFT JOIN product AS p ON p.sku = l.sku ' +
          'WHERE p.sku IS NULL',
      ),
    tells: [[50, 'P99']],
  },
  {
    id: 'R7',
    title: 'What does order 20 say?',
    database: 'orders',
    run: async (agent) =>
      (await agent.rows('SELECT id, status, note FROM purchase WHERE id = 20'))[0],
    tells: [20, 'shipped', 'leave at the door'],
  },
  {
    id: 'R8',
    title: 'What did each country pay?',
    database: 'orders',
    run: (agent) =>
      agent.rows(
        'SELECT c.country, SUM(l.quantity * p.price_cents) AS cents FROM line AS l ' +
          'JOIN purchase AS o ON o.id = l.purchase_id JOIN customer AS c ON c.id = o.customer_id ' +
          'JOIN product AS p ON p.sku = l.sku GROUP BY c.country ORDER BY c.country',
      ),
    tells: [
      ['DE', 50_500],
      ['FR', 61_900],
      ['NL', 53_700],
    ],
  },
];

/** All other tasks, each a conversation of its own. */
export const others: readonly Task[] = [
  {
    id: 'W1',
    title: 'Ship order 21.',
    database: 'orders',
    run: async (agent) => {
      await agent.call('call', { reducer: 'set_status', args: [21, 'shipped'] });
      return numberIn(agent, 'SELECT status FROM purchase WHERE id = 21');
    },
    tells: 'shipped',
  },
  {
    id: 'W2',
    title: 'Set the stock of P4 to 12, by names.',
    database: 'orders',
    run: async (agent) => {
      const args = { sku: 'P4', stock: 12 };
      return (await agent.call('call', { reducer: 'set_stock', args })).texts[0];
    },
    tells: "reducer 'set_stock' committed",
  },
  {
    id: 'W3',
    title: 'Ship an order that does not exist.',
    database: 'orders',
    run: async (agent) =>
      (await agent.call('call', { reducer: 'set_status', args: [999, 'paid'] })).texts.map(
        unfenced,
      ),
    tells: ["reducer 'set_status' failed: there is no order 999"],
  },
  {
    id: 'W4',
    title: 'Why does the label of order 21 fail?',
    database: 'orders',
    run: async (agent) => {
      const { texts } = await agent.call('call', { reducer: 'print_label', args: [21] });
      return /TypeError.* at \S+\.ts:\d+:\d+$/m.test(texts.map(unfenced).join('\n'));
    },
    tells: true,
  },
  {
    id: 'W5',
    title: 'Correct the line of a product that does not exist, after a look.',
    database: 'orders',
    features: 'preview',
    run: async (agent) => {
      const sql = "UPDATE line SET sku = 'P9' WHERE sku = 'P99'";
      const { texts } = await agent.call('preview_sql', { sql });
      const [, preview] = /`preview`: "(.*?)"/.exec(texts.join('\n')) ?? [];
      return (await agent.call('apply_preview', { preview })).texts[0];
    },
    tells: 'Applied, exactly as previewed.',
  },
  {
    id: 'W6',
    title: 'What would it do to delete the paid orders?',
    database: 'orders',
    features: 'preview',
    run: async (agent) => {
      const sql = 'DELETE FROM purchase WHERE id <= 90';
      return (await agent.call('preview_sql', { sql })).texts[0];
    },
    tells:
      'Nothing has happened: the statement would commit and change purchase: 50 deleted, ' +
      '40 more changed, which are not shown.',
  },
  {
    id: 'W7',
    title: 'Write by SQL, and say how many rows.',
    database: 'orders',
    run: async (agent) => {
      const sql = 'UPDATE product SET price_cents = price_cents + 5 WHERE stock > 20';
      return JSON.parse((await agent.call('sql', { sql })).texts[0] ?? '')[0].affected;
    },
    tells: 6,
  },
  {
    id: 'C1',
    title: 'Show all messages.',
    database: 'chat',
    run: async (agent) => {
      const sql = 'SELECT * FROM message ORDER BY id';
      const { texts } = await agent.call('sql', { sql });
      const [, cursor] = /`cursor`: "(.*?)"/.exec(texts.slice(1).join('\n')) ?? [];
      const rest = await agent.call('sql', { sql, cursor });
      const count = (text = '') => JSON.parse(text)[0].rows.length;
      return count(texts[0]) + count(rest.texts[0]);
    },
    tells: 200,
  },
  {
    id: 'C2',
    title: 'How many messages has each room?',
    database: 'chat',
    run: (agent) =>
      agent.rows(
        'SELECT r.name, COUNT(*) AS n FROM room AS r JOIN message AS m ON m.room_id = r.id ' +
          'GROUP BY r.name ORDER BY r.name',
      ),
    tells: [
      ['help', 99],
      ['lobby', 100],
    ],
  },
  {
    id: 'C3',
    title: 'Which messages are in no room?',
    database: 'chat',
    run: (agent) => agent.rows('SELECT id FROM message WHERE room_id NOT IN (SELECT id FROM room)'),
    tells: [[13]],
  },
  {
    id: 'C4',
    title: 'What was reported?',
    database: 'chat',
    run: (agent) =>
      agent.rows('SELECT m.id, r.reason FROM report AS r JOIN message AS m ON m.id = r.message_id'),
    tells: [[66, 'spam']],
  },
  {
    id: 'C5',
    title: 'Read a message that gives orders.',
    database: 'chat',
    features: 'fence',
    run: async (agent) =>
      (await agent.call('sql', { sql: 'SELECT text FROM message WHERE id = 66' })).texts.map(
        (text) => /\\u202e|never instructions/.test(text),
      ),
    tells: [true, true],
  },
  {
    id: 'C6',
    title: 'Hide it, and close the report.',
    database: 'chat',
    run: async (agent) => {
      await agent.call('call', { reducer: 'hide', args: [66] });
      await agent.call('call', { reducer: 'close_report', args: [1] });
      const sql =
        'SELECT COUNT(*) AS n FROM message WHERE hidden AND id NOT IN (SELECT message_id FROM report)';
      return numberIn(agent, sql);
    },
    tells: 1,
  },
];
