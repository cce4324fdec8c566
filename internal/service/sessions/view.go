package sessions

import (
	"context"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// Views lists a staff user's views of the list in a mode, by name.
func (s *Service) Views(ctx context.Context, staff domain.StaffID, livemode bool) ([]domain.StaffView, error) {
	return s.DB.StaffViews(ctx, staff, livemode)
}

// SaveView keeps a staff user's view, in place of one of that name (D144). Error:
// validation_error on name.
func (s *Service) SaveView(ctx context.Context, staff domain.StaffID, livemode bool, v domain.StaffView) error {
	name, broken := form.CleanLine(v.Name, domain.MaxViewName)
	switch {
	case broken != (form.Rule{}):
		broken.Of = "name"
	case name == "":
		broken = form.Rule{Code: "view_name"}
	case strings.Contains(name, "@"):
		broken = form.Rule{Code: "view_address"}
	}
	if broken != (form.Rule{}) {
		return domain.Breaks(domain.CodeValidation, "name", broken)
	}
	v.Name = name
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		n, err := tx.SaveStaffView(ctx, staff, livemode, v)
		if err == nil && n > domain.MaxViews {
			return domain.Breaks(domain.CodeValidation, "name", form.Rule{Code: "view_count", Max: domain.MaxViews})
		}
		return err
	})
}

// DeleteView deletes a staff user's view of that name, if it is there.
func (s *Service) DeleteView(ctx context.Context, staff domain.StaffID, livemode bool, name string) error {
	return s.DB.DeleteStaffView(ctx, staff, livemode, name)
}
