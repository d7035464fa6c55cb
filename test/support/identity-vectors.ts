/** Issuers and subjects, and their identities on every host. */
export const identityVectors: [issuer: string, subject: string, identity: string][] = [
  ['example.com', '123', 'c200ef884364c1a99be0298dc68f2004e6b97c09d1b1658b7db22f51fb662059'],
  ['localhost', 'test-subject', 'c200b3ce65d91b79ecfb7d881cd65bf8da2f647d590af1474ad19faa7aa87e38'],
  [
    'localhost',
    '0f4c1f2e-9a3b-4d5c-8e7f-1a2b3c4d5e6f',
    'c20052b4cc7385325f27e2224c28213fd8de8c8e7e8f79726a2542e408367a66',
  ],
  [
    'https://auth.example.com',
    'alice',
    'c2002178d8298fdb678fe253b4a091732b96565481ec918100396067c710e90b',
  ],
  [
    'https://auth.example.com/',
    'alice',
    'c20090bc6734fd451a77e694c6211d69aa1c9d46fa6ae8a631c33e39c471329c',
  ],
  [
    'https://accounts.google.com',
    '110169484474386276334',
    'c200373294446964ad689b1b9e7b1eef98fdbf3970e4cd1a0d682dc58407ea53',
  ],
  ['発行者', 'ユーザー', 'c2004cfcf9b19d10766111d18d6713b060820039c0d5127dcf3b978288dd1ae5'],
];
