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
    who: string;
    days: number;
  };
}

export default migration<Before>({
  id: '0004-names',
  from: 'd7fcb6c63b47a89d6eb4c7fce45c3d30e595c764818609b2423ee131c9062feb',
  steps: (m) => [
    m.dropColumn('loan', 'who'),
    m.addColumn('loan', 'first', { fill: (old) => old.who.split(' ', 1)[0] ?? '' }),
    m.addColumn('loan', 'last', { fill: (old) => old.who.split(' ').slice(1).join(' ') }),
  ],
});
