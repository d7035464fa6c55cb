import { migration } from 'reducerdb/server';

/** The rows of all tables as they are before this migration. */
interface Before {
  item: {
    id: number;
    lender: string;
    name: string;
  };
  loan: {
    id: number;
    itemId: number;
    days: number;
    first: string;
    last: string;
  };
  price: {
    itemId: number;
    cents: number;
  };
}

export default migration<Before>({
  id: '0007-lent',
  from: 'bbfa4ce2169249d26ca885d330aa0c1e7ebde62ec17c0dcab403c8b9457ab405',
  steps: (m) => [
    m.addColumn('item', 'lent', { fill: () => 0 }),
    m.run(({ old, new: now }) => {
      for (const loan of old.loan.iter()) {
        const item = now.item.id.find(loan.itemId);
        if (item !== null) now.item.id.update({ ...item, lent: item.lent + 1 });
      }
    }),
    m.assert(({ old, new: now }) => {
      let lent = 0;
      for (const item of now.item.iter()) lent += item.lent;
      return BigInt(lent) === old.loan.count();
    }, 'every loan is counted once'),
  ],
});
