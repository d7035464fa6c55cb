import { migration } from 'reducerdb/server';

/** The rows of all tables as they are before this migration. */
interface Before {
  item: {
    id: number;
    name: string;
    lender: string;
    note: string;
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
  id: '0006-no-notes',
  from: '31ba4f940f70b33986838267fef214db199ac933cbbb9096c76f9e26d6a5c2f0',
  steps: (m) => [m.dropColumn('item', 'note'), m.moveColumns('item', ['id', 'lender', 'name'])],
  down: (m) => [
    m.addColumn('item', 'note', { fill: () => '' }),
    m.moveColumns('item', ['id', 'name', 'lender', 'note']),
  ],
});
