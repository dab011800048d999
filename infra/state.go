package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// State is the stack of what is kept: it may be updated for years and is never
// deleted with its data.
type State struct {
	awscdk.Stack
	Key    awskms.Key
	Table  awsdynamodb.Table
	Bucket awss3.Bucket
}

// NewState makes the stack.
func NewState(scope constructs.Construct, cfg config) *State {
	s := &State{Stack: awscdk.NewStack(scope, jsii.String("State"), &awscdk.StackProps{
		StackName: jsii.String(cfg.name("state")), Description: jsii.String("Slipway: what is kept"),
		TerminationProtection: jsii.Bool(cfg.Keep),
	})}
	removal := awscdk.RemovalPolicy_DESTROY
	if cfg.Keep {
		removal = awscdk.RemovalPolicy_RETAIN
	}
	s.Key = awskms.NewKey(s.Stack, jsii.String("Key"), &awskms.KeyProps{
		Alias: jsii.String("alias/" + cfg.name("key")), Description: jsii.String("Encrypts Slipway's data and wraps the keys of its secrets"),
		EnableKeyRotation: jsii.Bool(true), RemovalPolicy: removal,
	})
	// Alarms go to an encrypted topic, and what a rule can't deliver to an encrypted queue.
	s.Key.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Deliver"), Actions: jsii.Strings("kms:Decrypt", "kms:GenerateDataKey"), Resources: jsii.Strings("*"),
		Principals: &[]awsiam.IPrincipal{
			awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil), awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil),
		},
		Conditions: &map[string]any{"StringEquals": map[string]*string{"aws:SourceAccount": s.Stack.Account()}},
	}), nil)
	s.table(cfg, removal)
	s.bucket(removal)
	for name, value := range map[string]*string{"TableName": s.Table.TableName(), "BucketName": s.Bucket.BucketName(), "KeyArn": s.Key.KeyArn()} {
		awscdk.NewCfnOutput(s.Stack, jsii.String(name), &awscdk.CfnOutputProps{Value: value})
	}
	return s
}

// table is as pkg/store/dynamo's TableInput says; a test compares the two.
func (s *State) table(cfg config, removal awscdk.RemovalPolicy) {
	attribute := func(name string) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
	}
	s.Table = awsdynamodb.NewTable(s.Stack, jsii.String("Table"), &awsdynamodb.TableProps{
		TableName: jsii.String(cfg.name("table")), PartitionKey: attribute("pk"), SortKey: attribute("sk"),
		BillingMode: awsdynamodb.BillingMode_PAY_PER_REQUEST, Encryption: awsdynamodb.TableEncryption_CUSTOMER_MANAGED, EncryptionKey: s.Key,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: jsii.Bool(true)},
		Stream:                           awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES,
		DeletionProtection:               jsii.Bool(cfg.Keep), TimeToLiveAttribute: jsii.String("expires"), RemovalPolicy: removal,
	})
	for _, n := range []string{"1", "2"} {
		s.Table.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName: jsii.String("index" + n), PartitionKey: attribute("pk" + n), SortKey: attribute("sk" + n),
			ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
		})
	}
}

// blobPrefix and retiredTag are pkg/store/dynamo's BlobPrefix and
// pkg/blob/s3's RetiredTag; a test compares them.
const (
	blobPrefix = "blobs/"
	retiredTag = "retired"
)

// bucket holds what is too large for the table, by its hash. Nothing in it
// changes. What nothing refers to any more is marked and goes; a version of it
// stays as long as the table can be restored to a time at which it was needed.
func (s *State) bucket(removal awscdk.RemovalPolicy) {
	s.Bucket = awss3.NewBucket(s.Stack, jsii.String("Bucket"), &awss3.BucketProps{
		Encryption: awss3.BucketEncryption_KMS, EncryptionKey: s.Key, BucketKeyEnabled: jsii.Bool(true),
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(), EnforceSSL: jsii.Bool(true),
		ObjectOwnership: awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED, RemovalPolicy: removal, AutoDeleteObjects: jsii.Bool(false),
		Versioned: jsii.Bool(true),
		LifecycleRules: &[]*awss3.LifecycleRule{{
			Id: jsii.String("unfinished-uploads"), AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}, {
			Id: jsii.String("retired"), Prefix: jsii.String(blobPrefix), TagFilters: &map[string]any{retiredTag: "yes"},
			Expiration: awscdk.Duration_Days(jsii.Number(1)),
		}, {
			Id: jsii.String("restorable"), NoncurrentVersionExpiration: awscdk.Duration_Days(jsii.Number(36)), ExpiredObjectDeleteMarker: jsii.Bool(true),
		}, {
			Id: jsii.String("cold"), Prefix: jsii.String(blobPrefix),
			Transitions: &[]*awss3.Transition{{StorageClass: awss3.StorageClass_INTELLIGENT_TIERING(), TransitionAfter: awscdk.Duration_Days(jsii.Number(30))}},
		}},
	})
	suppress(s.Bucket, "AwsSolutions-S1", "The bucket is read and written by Slipway's functions only; their log and CloudTrail's data events say who did what. A second bucket of access logs would cost more than what is kept here.")
}
