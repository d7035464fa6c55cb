import { migration } from 'reducerdb/server';

/** The rows of all tables as they are before this migration. */
interface Before {
  item: {
    id: number;
    name: string;
    lender: string;
    price: string;
    note: string;
  };
  loan: {
    id: number;
    itemId: number;
    who: string;
    days: number;
  };
}

export default migration<Before>({
  id: '0003-cents',
  from: 'd8c47fec45b6087e1faa142fc657673144a4ed6dd4c4be102062a3268b88399d',
  steps: (m) => [
    m.changeColumn('item', 'price', { using: (old) => Math.round(Number(old.price) * 100) }),
    m.assert('SELECT COUNT(*) = 0 FROM item WHERE price = 0', 'everything has a price'),
  ],
});
