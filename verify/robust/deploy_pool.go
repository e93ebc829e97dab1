package main

import (
	"context"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// pool is a user pool of Cognito.
type pool struct {
	issuer, client string
	tokens         map[string]string // of a user of each tenant
}

// newPool makes a user pool, with a user of each of two tenants.
func (r *release) newPool(ctx context.Context) *pool {
	const password = "Correct-horse-7"
	var made struct {
		UserPool             struct{ ID string }
		UserPoolClient       struct{ ClientID string }
		AuthenticationResult struct{ IDToken string }
	}
	call := func(action string, input map[string]any) {
		input["UserPoolId"], input["ClientId"] = made.UserPool.ID, made.UserPoolClient.ClientID
		action = "AWSCognitoIdentityProviderService." + action
		check.Must(r.server.JSON(ctx, "cognito-idp", action, input, &made))
	}
	type object = map[string]any
	call("CreateUserPool", object{
		"PoolName": "shops", "Schema": []object{{"Name": "tenant", "AttributeDataType": "String"}},
	})
	call("CreateUserPoolClient", object{
		"ClientName": "shop", "ExplicitAuthFlows": []string{"ALLOW_ADMIN_USER_PASSWORD_AUTH"},
	})
	p := &pool{tokens: map[string]string{}}
	for _, tenant := range []string{"acme", "globex"} {
		for _, c := range []struct {
			action string
			input  object
		}{
			{"AdminCreateUser", object{"UserAttributes": []object{{"Name": "custom:tenant", "Value": tenant}}}},
			{"AdminSetUserPassword", object{"Password": password, "Permanent": true}},
			{"AdminInitiateAuth", object{
				"AuthFlow":       "ADMIN_USER_PASSWORD_AUTH",
				"AuthParameters": object{"USERNAME": tenant, "PASSWORD": password},
			}},
		} {
			c.input["Username"] = tenant
			call(c.action, c.input)
		}
		p.tokens[tenant] = made.AuthenticationResult.IDToken
	}
	p.issuer = "https://cognito-idp." + ministack.Region + ".amazonaws.com/" + made.UserPool.ID
	p.client = made.UserPoolClient.ClientID
	return p
}
