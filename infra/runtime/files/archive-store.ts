// The store of archive files by its settings: a folder, or a bucket when `ARCHIVE_S3_BUCKET` is set. The nightly runner writes it, the API reads it.
import { type Config, ConfigError, type ConfigSpec } from '../process/config.ts';
import { type ObjectStore, openFolderStore } from './object-store.ts';
import { openS3Store } from './s3-store.ts';

export const ARCHIVE_CONFIG = {
  ARCHIVE_DIR: {
    type: 'string',
    default: '.local/archive',
    description: 'Folder of the archive files; with a bucket, of files in progress.',
  },
  ARCHIVE_S3_BUCKET: {
    type: 'string',
    default: null,
    description: 'Bucket of the archive files on an S3-compatible server; unset: the folder.',
  },
  ARCHIVE_S3_ENDPOINT: {
    type: 'url',
    default: null,
    description: 'Address of that server; unset: Amazon in ARCHIVE_S3_REGION.',
  },
  ARCHIVE_S3_REGION: { type: 'string', default: 'us-east-1', description: 'Its region.' },
  ARCHIVE_S3_ACCESS_KEY_ID: { type: 'string', default: null, secret: true, description: 'Access key of the bucket.' },
  ARCHIVE_S3_SECRET_ACCESS_KEY: { type: 'string', default: null, secret: true, description: 'Its secret.' },
  ARCHIVE_S3_PRESIGN: {
    type: 'boolean',
    default: true,
    description: 'Whether links lead to the bucket; false: to the API, for clients that cannot reach the bucket.',
  },
} as const satisfies ConfigSpec;

/** Throws ConfigError for a bucket without its keys. */
export const openArchiveStore = (config: Config<typeof ARCHIVE_CONFIG>): ObjectStore => {
  const { ARCHIVE_DIR: folder, ARCHIVE_S3_BUCKET: bucket, ARCHIVE_S3_REGION: region } = config;
  if (bucket === null) return openFolderStore(folder);
  const { ARCHIVE_S3_ACCESS_KEY_ID: accessKeyId, ARCHIVE_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (accessKeyId === null || secretAccessKey === null)
    throw new ConfigError(['ARCHIVE_S3_BUCKET needs ARCHIVE_S3_ACCESS_KEY_ID and ARCHIVE_S3_SECRET_ACCESS_KEY']);
  const endpoint = config.ARCHIVE_S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`;
  const store = openS3Store({ endpoint, bucket, region, accessKeyId, secretAccessKey, workFolder: folder });
  return config.ARCHIVE_S3_PRESIGN ? store : { ...store, presign: null };
};
