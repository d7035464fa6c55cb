import { migration } from 'reducerdb/server';

/** The rows of all tables as they are before this migration. */
interface Before {
  loan: {
    id: number;
    toolId: number;
    who: string;
    days: number;
  };
  tool: {
    id: number;
    name: string;
    owner: string;
    price: string;
    note: string;
  };
}

export default migration<Before>({
  id: '0001-items',
  from: '19674fa49262887a183e43ee749df86f5750f9d62c8326a40879591c4bd69e64',
  steps: (m) => [m.renameTable('tool', 'item'), m.renameColumn('loan', 'toolId', 'itemId')],
});
