import { migration } from 'reducerdb/server';

/** The rows of all tables as they are before this migration. */
interface Before {
  item: {
    id: number;
    name: string;
    owner: string;
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
  id: '0002-lenders',
  from: '9ce13cc8b09f8f7a2f0b794b3a6f280fd52436d44233fba14792f42cd34ab12e',
  steps: (m) => [m.renameColumn('item', 'owner', 'lender')],
});
