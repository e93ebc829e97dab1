package streamsort

import (
	"regexp"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsbudgets"
	"github.com/aws/jsii-runtime-go"
)

var emailAddress = regexp.MustCompile(`^[^@\s]{1,64}@[^@\s]+\.[^@\s]+$`)

// addBudget tells somebody when the account's month costs more than it should, or
// will.
func (s *Streamsort) addBudget() {
	p := s.props
	if p.BudgetDollars == 0 {
		return
	}
	kind := "EMAIL"
	if topicARN.MatchString(p.BudgetSubscriber) {
		kind = "SNS"
	}
	var notifications []any
	for _, of := range []string{"ACTUAL", "FORECASTED"} {
		notifications = append(notifications, &awsbudgets.CfnBudget_NotificationWithSubscribersProperty{
			Notification: &awsbudgets.CfnBudget_NotificationProperty{
				NotificationType: jsii.String(of), ComparisonOperator: jsii.String("GREATER_THAN"),
				Threshold: jsii.Number(100), ThresholdType: jsii.String("PERCENTAGE"),
			},
			Subscribers: &[]any{&awsbudgets.CfnBudget_SubscriberProperty{SubscriptionType: &kind, Address: &p.BudgetSubscriber}},
		})
	}
	awsbudgets.NewCfnBudget(s.scope, jsii.String("Budget"), &awsbudgets.CfnBudgetProps{
		Budget: &awsbudgets.CfnBudget_BudgetDataProperty{
			BudgetType: jsii.String("COST"), TimeUnit: jsii.String("MONTHLY"),
			BudgetLimit: &awsbudgets.CfnBudget_SpendProperty{Amount: jsii.Number(p.BudgetDollars), Unit: jsii.String("USD")},
		},
		NotificationsWithSubscribers: &notifications,
	})
}

func (p Props) checkBudget(c *checker) {
	switch to := p.BudgetSubscriber; {
	case (p.BudgetDollars == 0) != (to == ""):
		c.fail("budgetDollars, budgetSubscriber", "are %d and %q; write both or none", p.BudgetDollars, to)
	case p.BudgetDollars != 0:
		between(c, "budgetDollars", p.BudgetDollars, 1, 1_000_000_000)
		if !emailAddress.MatchString(to) && !topicARN.MatchString(to) {
			c.fail("budgetSubscriber", "is %q; write an e-mail address, or the ARN of a topic that budgets.amazonaws.com may publish on", to)
		}
	}
}
