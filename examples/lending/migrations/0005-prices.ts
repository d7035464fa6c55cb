import { migration } from 'reducerdb/server';

/** The rows of all tables as they are before this migration. */
interface Before {
  item: {
    id: number;
    name: string;
    lender: string;
    price: number;
    note: string;
  };
  loan: {
    id: number;
    itemId: number;
    days: number;
    first: string;
    last: string;
  };
}

export default migration<Before>({
  id: '0005-prices',
  from: 'e20bf5cb39af567f6b0e897dbeecfa7f39caa81cd161b3a157ea48fe20286865',
  steps: (m) => [
    m.splitTable('item', {
      into: {
        item: ({ id, name, lender, note }) => ({ id, name, lender, note }),
        price: (old) => ({ itemId: old.id, cents: old.price }),
      },
    }),
  ],
});
